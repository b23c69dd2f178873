// A provider whose model drives a coding agent: it follows a script of tool calls, and speaks the
// three APIs of agents as streams. It sees only what the gateway forwards.

import { messageEvents, type StreamedBlock, streamedText, streamedThinking } from './messages-upstream.ts'
import { responseEvents, streamedMessage, streamedReasoning } from './responses-upstream.ts'
import { type Answer, chunk, event, finish, opening, type Received, streamOf } from './upstream.ts'

/** What the model does in a turn. Paths are relative to the agent's folder. */
export type Move =
  | { readonly act: 'read'; readonly file: string }
  | { readonly act: 'edit'; readonly file: string; readonly from: string; readonly to: string }
  | { readonly act: 'write'; readonly file: string; readonly text: string }
  | { readonly act: 'run'; readonly command: string }
  | { readonly act: 'say'; readonly text: string; readonly thought?: string }

export type Deed = Exclude<Move, { act: 'say' }>

/** A call of one of the agent's tools. */
export interface ToolUse {
  readonly name: string
  /** Arguments, or the text of a tool without a schema. */
  readonly input: object | string
}

/** The next move, from the results of the moves before. */
export type Script = (results: readonly string[]) => Move

/** Characters of arguments in one event: few, so that placeholders are split. */
const PIECE_CHARACTERS = 5

const piecesOf = (text: string): string[] => text.match(new RegExp(`.{1,${PIECE_CHARACTERS}}`, 'gsu')) ?? []

interface Body {
  readonly tools?: readonly object[]
  readonly messages?: readonly Message[]
  readonly input?: readonly Item[]
}

interface Message {
  readonly role: string
  readonly content: string | readonly Part[]
}

interface Part {
  readonly type: string
  readonly text?: string
  readonly content?: string | readonly Part[]
}

interface Item {
  readonly type: string
  readonly output?: string | readonly Part[]
}

const textOf = (content: string | readonly Part[] = ''): string =>
  typeof content === 'string' ? content : content.map((part) => part.text ?? '').join('')

/** The results of tools in a request, in order. */
function resultsIn({ messages = [], input = [] }: Body): string[] {
  const inMessages = messages.flatMap(({ role, content }) => {
    if (role === 'tool') return [textOf(content)]
    if (typeof content === 'string') return []
    return content.filter(({ type }) => type === 'tool_result').map((part) => textOf(part.content))
  })
  const inItems = input.filter(({ type }) => type.endsWith('_call_output'))
  return [...inMessages, ...inItems.map(({ output }) => textOf(output))]
}

/** Whether a request is a turn of the agent, and not one for a title. */
export const isTurn = ({ url, body }: Received): boolean =>
  /^\/v1\/(?:messages|responses|chat\/completions)\b/.test(url) &&
  ((JSON.parse(body) as Body).tools?.length ?? 0) > 0

/** Answers each turn with the script's next move, and any other request with a short text. */
export const agentModel =
  (script: Script, toolFor: (deed: Deed) => ToolUse): Answer =>
  (response, received) => {
    const results = resultsIn(JSON.parse(received.body) as Body)
    const move: Move = isTurn(received) ? script(results) : { act: 'say', text: 'A title' }
    const use = move.act === 'say' ? null : toolFor(move)
    const text = move.act === 'say' ? move.text : `Step ${results.length + 1}.`
    const stream = received.url.includes('/messages')
      ? messagesStream
      : received.url.includes('/responses')
        ? responsesStream
        : chatStream
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    const thought =
      move.act === 'say' ? (move.thought ?? 'I am done.') : `I think of ${JSON.stringify(use?.input)}`
    for (const one of stream({ thought, text, use }, results.length)) response.write(one)
    response.end()
  }

/** What the model writes in a turn. */
interface Written {
  readonly thought: string
  readonly text: string
  readonly use: ToolUse | null
}

type Stream = (written: Written, turn: number) => string[]

const messagesStream: Stream = ({ thought, text, use }, turn) => {
  const blocks: StreamedBlock[] = [
    streamedThinking(`c2lnbmF0dXJlIG9m${turn}`, ...piecesOf(thought)),
    streamedText(...piecesOf(text)),
  ]
  if (use !== null) {
    blocks.push({
      begin: { type: 'tool_use', id: `toolu_${turn}`, name: use.name, input: {} },
      deltas: piecesOf(JSON.stringify(use.input)).map((partial_json) => ({
        type: 'input_json_delta',
        partial_json,
      })),
    })
  }
  const events = messageEvents(blocks, use === null ? 'end_turn' : 'tool_use')
  return events.map((one) => one.replaceAll('msg_01', `msg_${turn}`))
}

const responsesStream: Stream = ({ thought, text, use }, turn) => {
  const items = [streamedReasoning(...piecesOf(thought)), streamedMessage(...piecesOf(text))]
  if (use !== null) items.push(responsesCall(use, turn))
  return responseEvents(items).map((one) =>
    one.replaceAll(/"(resp|rs|msg)_67ccd2b[0-9a-f]+"/g, (_, kind: string) => `"${kind}_${turn}"`),
  )
}

/** A call of a function, or of a tool that takes a text. */
const responsesCall =
  ({ name, input }: ToolUse, turn: number) =>
  (output_index: number) => {
    const [type, member] =
      typeof input === 'string' ? ['custom_tool_call', 'input'] : ['function_call', 'arguments']
    const event = `response.${type}_${member}`
    const whole = typeof input === 'string' ? input : JSON.stringify(input)
    const item = {
      type,
      id: `fc_${turn}`,
      call_id: `call_${turn}`,
      name,
      status: 'completed',
      [member]: whole,
    }
    const place = { item_id: item.id, output_index }
    return [
      {
        type: 'response.output_item.added',
        output_index,
        item: { ...item, status: 'in_progress', [member]: '' },
      },
      ...piecesOf(whole).map((delta) => ({ type: `${event}.delta`, ...place, delta })),
      { type: `${event}.done`, ...place, [member]: whole },
      { type: 'response.output_item.done', output_index, item },
    ]
  }

const chatStream: Stream = ({ text, use }, turn) => {
  if (use === null) return streamOf(piecesOf(text), true)
  const called = (call: object) =>
    event(chunk([{ index: 0, delta: { tool_calls: [{ index: 0, ...call }] }, finish_reason: null }]))
  const begun = { id: `call_${turn}`, type: 'function', function: { name: use.name, arguments: '' } }
  return [
    event(opening(text)),
    called(begun),
    ...piecesOf(JSON.stringify(use.input)).map((piece) => called({ function: { arguments: piece } })),
    event(finish(0, 'tool_calls')),
    event('[DONE]'),
  ]
}
