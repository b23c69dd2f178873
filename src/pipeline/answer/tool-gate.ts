// Stops the tool calls of a stream that rules refuse. Holds back the events of a call only while
// its arguments may refuse it; texts and other calls flow on. Depends on the events alone, so that
// chunk boundaries do not matter.

import { DONE, encodeEvent, type SseEvent } from '../../chat/sse.ts'
import { parseObject } from '../../chat/stream-chunk.ts'
import { isTooDeep } from '../../chat/strict-json.ts'
import type { CallEvent, CallPiece, CallReader, ToolFormat } from '../../chat/tool-format.ts'
import { GatewayError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Steps } from '../../core/steps.ts'
import { type ToolName, toolNamed } from '../../core/tool-name.ts'
import { MAXIMUM_ARGUMENT_CHARACTERS } from '../../policy/tool-arguments.ts'
import type { CallRules } from '../../policy/tool-rules.ts'
import { CallJudge, type ToolAnswer } from './tool-calls.ts'

/** Maximum calls of one answer. */
const MAXIMUM_CALLS = 4096

/** A call of the stream. */
interface StreamedCall {
  /** Null until an event names it. */
  tool: ToolName | null
  /** Its arguments so far; null when they are not needed, or judged already. */
  text: string | null
  isText: boolean
  /** Whether its name needed no arguments at first, so that some of them are not known. */
  isPartial: boolean
  /** Whether its arguments were judged; what comes after was not in them. */
  isJudged: boolean
  /** Events that wait for its arguments. */
  held: SseEvent[]
}

export class ToolGate {
  readonly #judge: CallJudge
  readonly #reader: CallReader
  readonly #calls = new Map<string, StreamedCall>()
  #heldCharacters = 0
  /** Choices whose text ended with a call that is held or refused. */
  #endedTexts: number[] = []

  constructor(answer: ToolAnswer, rules: CallRules, format: ToolFormat) {
    this.#judge = new CallJudge(answer, rules)
    this.#reader = format.readCalls()
  }

  /** The call that is refused; null while none is. */
  get refused(): CallJudge['refused'] {
    return this.#judge.refused
  }

  /** Size of the events and arguments that wait, UTF-16 units. */
  get heldCharacters(): number {
    return this.#heldCharacters
  }

  /** Returns the choices whose text ended with a call that did not leave, once. */
  takeEndedTexts(): readonly number[] {
    const ended = this.#endedTexts
    if (ended.length > 0) this.#endedTexts = []
    return ended
  }

  /**
   * Takes an event and returns those that may be relayed now, in order; none once a call is
   * refused.
   * @throws GatewayError `upstream_unavailable` for more than MAXIMUM_CALLS calls
   */
  *take(event: SseEvent): Steps<readonly SseEvent[]> {
    const { data } = event
    if (this.refused !== null) return []
    if (data === null) return [event]
    if (data.trimEnd() === DONE) return [...(yield* this.#endAll()), event]
    if (!this.#reader.mayHold(data) || isTooDeep(data)) return [event]
    const body = parseObject(data)
    const found = body === null ? null : this.#reader.read(body)
    if (body === null || found === null) return [event]
    return yield* this.#takeCalls(event, body, found)
  }

  *#takeCalls(event: SseEvent, body: JsonObject, found: CallEvent): Steps<readonly SseEvent[]> {
    const out: SseEvent[] = []
    for (const key of found.ended) out.push(...(yield* this.#end(key)))
    const isHeld: boolean[] = []
    for (const piece of found.pieces) {
      const call = yield* this.#add(piece, found.isRepeat)
      const holds = this.#holds(call)
      if ((holds || this.refused !== null) && piece.choice !== null) this.#endedTexts.push(piece.choice)
      if (this.refused !== null) return out
      // What waited for its name goes first.
      if (!holds) out.push(...this.#release(call))
      isHeld.push(holds)
    }
    if (!isHeld.includes(true)) {
      out.push(...(yield* this.#endPieces(found)))
      if (this.refused === null) out.push(event)
    } else if (found.isAlone) {
      this.#hold(found.pieces[0]!.key, event)
      out.push(...(yield* this.#endPieces(found)))
    } else {
      const { pieces, rest } = this.#reader.split(body)
      const parts = pieces.map((piece) => asEvent(event, piece))
      const restOf = rest === null ? [] : [asEvent(event, rest)]
      const endsChoice = found.pieces.some(({ ends }) => ends)
      if (!endsChoice) out.push(...restOf)
      for (const [index, part] of parts.entries())
        if (isHeld[index]) this.#hold(found.pieces[index]!.key, part)
        else out.push(part)
      out.push(...(yield* this.#endPieces(found)))
      if (endsChoice && this.refused === null) out.push(...restOf)
    }
    return out
  }

  /** Ends the calls whose last piece an event has. @returns the events that waited for them */
  *#endPieces({ pieces }: CallEvent): Steps<readonly SseEvent[]> {
    const out: SseEvent[] = []
    for (const { key, ends } of pieces) if (ends) out.push(...(yield* this.#end(key)))
    return out
  }

  /** Adds a piece to its call. */
  *#add(piece: CallPiece, isRepeat: boolean): Steps<StreamedCall> {
    const { key, whole } = piece
    let call = this.#calls.get(key)
    if (call === undefined) call = this.#begin(piece)
    else if (piece.tool !== null && !isRepeat) this.#name(call, piece.tool)
    if (this.refused !== null) return call
    // An event that has the whole call is what some clients read alone.
    if (whole !== null && !this.#judge.rename(whole.tool)) yield* this.#judge.judge(whole.tool, whole.given)
    if (call.text === null) {
      const isLate = call.isJudged && piece.text !== ''
      if (isLate && call.tool !== null) yield* this.#judge.judge(call.tool, null)
      return call
    }
    call.isText ||= piece.isText
    call.text += piece.text
    this.#heldCharacters += piece.text.length
    // Longer arguments match every rule, so nothing is gained by waiting.
    if (call.text.length > MAXIMUM_ARGUMENT_CHARACTERS) yield* this.#judgeArguments(call)
    return call
  }

  #begin({ key, tool: named, whole }: CallPiece): StreamedCall {
    if (this.#calls.size >= MAXIMUM_CALLS)
      throw new GatewayError(
        'upstream_unavailable',
        `The upstream's answer has more than ${MAXIMUM_CALLS} tool calls.`,
      )
    const call: StreamedCall = {
      tool: null,
      text: null,
      isText: false,
      isPartial: false,
      isJudged: false,
      held: [],
    }
    this.#calls.set(key, call)
    // A call that arrives whole is judged at once.
    if (whole === null) this.#await(call)
    this.#name(call, named ?? whole?.tool ?? null)
    return call
  }

  /** Begins to collect the arguments of a call. */
  #await(call: StreamedCall): void {
    call.text = ''
  }

  /** Stops collecting them. */
  #forget(call: StreamedCall): void {
    if (call.text === null) return
    this.#heldCharacters -= call.text.length
    call.text = null
  }

  /** Names a call. Some servers send a name in pieces, others repeat it. */
  #name(call: StreamedCall, tool: ToolName | null): void {
    if (tool === null || call.tool?.name === tool.name) return
    const before = call.tool
    call.tool = before === null ? tool : toolNamed(before.name + tool.name)
    if (before === null ? this.#judge.begin(tool) : this.#judge.rename(call.tool)) return
    const { needsArguments } = this.#judge.rules.named(call.tool)
    if (!needsArguments) this.#forget(call)
    else if (before !== null && call.text === null) {
      this.#await(call)
      call.isPartial = true
    }
  }

  /** Whether a call may still be refused by what is to come of it. */
  #holds({ tool, text }: StreamedCall): boolean {
    return tool === null || (text !== null && this.#judge.rules.named(tool).mayBeRefused)
  }

  #release(call: StreamedCall): readonly SseEvent[] {
    const { held } = call
    for (const { raw } of held) this.#heldCharacters -= raw.length
    call.held = []
    return held
  }

  #hold(key: string, event: SseEvent): void {
    this.#calls.get(key)!.held.push(event)
    this.#heldCharacters += event.raw.length
  }

  *#endAll(): Steps<readonly SseEvent[]> {
    const out: SseEvent[] = []
    for (const key of this.#calls.keys()) out.push(...(yield* this.#end(key)))
    return out
  }

  /** Judges a call that has ended. @returns the events that waited for it */
  *#end(key: string): Steps<readonly SseEvent[]> {
    const call = this.#calls.get(key)
    if (call === undefined || this.refused !== null) return []
    // A call that nothing names has the empty name.
    this.#name(call, call.tool ?? toolNamed(''))
    if (call.text !== null && this.refused === null) yield* this.#judgeArguments(call)
    return this.refused === null ? this.#release(call) : []
  }

  *#judgeArguments(call: StreamedCall): Steps<void> {
    const { tool, text, isText, isPartial } = call
    this.#forget(call)
    call.isJudged = true
    const given = { type: isText ? 'text' : 'written', text: text ?? '' } as const
    if (tool !== null) yield* this.#judge.judge(tool, isPartial ? null : given)
  }
}

function asEvent({ otherLines }: SseEvent, body: JsonObject): SseEvent {
  const data = JSON.stringify(body)
  return { data, otherLines, raw: encodeEvent(otherLines, data) }
}
