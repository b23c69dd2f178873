// Agents of OpenAI's SDK for agents, whose models call a tool that a rule refuses.

import { Agent, OpenAIProvider, Runner, tool } from '@openai/agents'
import t from 'tap'
import { openAi } from './client.ts'
import { deploy } from './gateway.ts'
import { streamed } from './messages-upstream.ts'
import {
  functionCall,
  outputText,
  responseEvents,
  responseOf,
  streamedCall,
  streamedMessage,
} from './responses-upstream.ts'
import { calling, streamCalling } from './tool-upstream.ts'
import { type Answer, completion, json, stream } from './upstream.ts'

const RULES = `
rules:
  - {name: no-rm, type: tool_access, pattern: ["*", "!mail"], arguments: [{path: /command, pattern: '\\brm\\s+-rf\\s+/'}], action: block}
  - {name: no-deploy, type: tool_access, pattern: ["*", "!deploy"], action: block}
`
const { upstream, gateway, key } = await deploy(t, undefined, { rules: RULES })

const DELETE = '{"command":"rm -rf /"}'
const LIST = '{"command":"ls"}'
/** What the tool answers. */
const RESULT = 'one file'
/** The text of a stream before its call. */
const BEFORE = 'Let me look.'
const DONE = 'Done.'
const REFUSED =
  /The answer was blocked by the policy rule \\?"no-rm\\?" because it calls the tool \\?"mail\\?"/

const MODELS = {
  chat: {
    useResponses: false,
    whole: (args: string) => json(calling('mail', args)),
    streamed: (...pieces: string[]) => streamed(streamCalling('mail', ...pieces)),
    done: json(completion(DONE)),
    doneInPieces: stream(['Do', 'ne.']),
  },
  responses: {
    useResponses: true,
    whole: (args: string) => json(responseOf(functionCall(args))),
    streamed: (...pieces: string[]) =>
      streamed(responseEvents([streamedMessage(BEFORE), streamedCall(...pieces)])),
    done: json(responseOf(outputText(DONE))),
    doneInPieces: streamed(responseEvents([streamedMessage('Do', 'ne.')])),
  },
}

/** Answers with `first`, and with `then` once the conversation has the result of the call. */
const inTurns =
  (first: Answer, then: Answer): Answer =>
  (response, received) =>
    (received.body.includes(RESULT) ? then : first)(response, received)

for (const [name, model] of Object.entries(MODELS)) {
  const modelProvider = new OpenAIProvider({
    openAIClient: openAi(gateway, key),
    useResponses: model.useResponses,
  })
  const runner = new Runner({ modelProvider, tracingDisabled: true })
  const ran: string[] = []
  const commandTool = (toolName: string) =>
    tool({
      name: toolName,
      description: 'Runs a command.',
      strict: false,
      parameters: {
        type: 'object',
        properties: { command: { type: 'string' } },
        required: ['command'],
        additionalProperties: true,
      },
      execute: (input) => {
        ran.push(JSON.stringify(input))
        return RESULT
      },
    })
  const agentWith = (...names: string[]) =>
    new Agent({ name: 'Tidy', model: 'gpt-5', tools: names.map(commandTool) })
  const agent = agentWith('mail')
  const PROMPT = 'Tidy up.'
  let text = ''
  /** Runs the agent as a stream, and keeps its text. @returns its last message */
  const runStreamed = async () => {
    text = ''
    const result = await runner.run(agent, PROMPT, { stream: true })
    for await (const event of result)
      if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta')
        text += event.data.delta
    await result.completed
    return result.finalOutput
  }

  t.test(`an agent with the ${name} model runs no refused call, and reports the rule`, async (t) => {
    ran.length = 0
    upstream.answer = model.whole(DELETE)
    await t.rejects(runner.run(agent, PROMPT), { message: REFUSED })
    upstream.answer = model.streamed('{"command":"rm -', 'rf /"}')
    await t.rejects(runStreamed(), { message: REFUSED })
    t.equal(text, BEFORE, 'the text before the call has arrived')
    t.same(ran, [])
    t.match(await gateway.newestEntry(), { stream: true, tools: [{ name: 'mail', called: 1, refused: 1 }] })
  })

  t.test(`an agent with the ${name} model runs an allowed call to its end`, async (t) => {
    ran.length = 0
    upstream.answer = inTurns(model.whole(LIST), model.done)
    t.equal((await runner.run(agent, PROMPT)).finalOutput, DONE)
    upstream.answer = inTurns(model.streamed('{"command":', '"ls"}'), model.doneInPieces)
    t.equal(await runStreamed(), DONE)
    t.same(ran, [LIST, LIST])
  })

  t.test(`an agent with the ${name} model reports a tool that must not be defined`, async (t) => {
    const before = upstream.received.length
    await t.rejects(runner.run(agentWith('mail', 'deploy'), PROMPT), {
      message: /"no-deploy" does not allow the tool "deploy"; leave it out of the request/,
    })
    t.equal(upstream.received.length, before)
  })
}
