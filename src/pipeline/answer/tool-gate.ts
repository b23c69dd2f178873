// Stops the tool calls of a stream that rules refuse. Holds back the events of a call only while
// its arguments may refuse it; texts and other calls flow on. Depends on the events alone, so that
// chunk boundaries do not matter. Where clients read a stream in several ways, a call is judged as
// each of them reads it.

import { DONE, encodeEvent, type SseEvent } from '../../chat/sse.ts'
import { parseObject } from '../../chat/stream-chunk.ts'
import { isTooDeep } from '../../chat/strict-json.ts'
import type { CallEvent, CallPiece, CallReader, ToolFormat } from '../../chat/tool-format.ts'
import type { JsonObject } from '../../core/json.ts'
import { Pace, type Steps } from '../../core/steps.ts'
import type { CallRules } from '../../policy/tool-rules.ts'
import { StreamedCall, tooMany } from './streamed-call.ts'
import { CallJudge, type ToolAnswer } from './tool-calls.ts'

/** Names that are judged with the arguments of other calls at most; then all are unreadable. */
const MAXIMUM_PAIRS = 1024
/** Maximum calls of one answer. */
const MAXIMUM_CALLS = 4096

export class ToolGate {
  readonly #judge: CallJudge
  readonly #reader: CallReader
  readonly #calls = new Map<string, StreamedCall>()
  /** Size of the events that wait. */
  #heldUnits = 0
  /** Size of the arguments that are kept. */
  #keptUnits = 0
  /** Whether clients may give arguments to other calls than the events say. */
  #isUnclear = false
  /** Choices with a name that some clients give to another call. */
  readonly #strays = new Set<number | null>()
  /** Names that were judged with the arguments of another call. */
  #pairs = 0
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
    return this.#heldUnits + this.#keptUnits
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
    const out = yield* this.#takeCalls(event, body, found)
    yield* this.#judge.follow(found.results)
    return out
  }

  *#takeCalls(event: SseEvent, body: JsonObject, found: CallEvent): Steps<readonly SseEvent[]> {
    const out: SseEvent[] = []
    for (const key of found.left) out.push(...(yield* this.#leave(key)))
    for (const key of found.ended) out.push(...(yield* this.#end(key)))
    if (found.isUnclear) yield* this.#confuse()
    const isHeld: boolean[] = []
    for (const piece of found.pieces) {
      if (this.refused === null) yield* this.#judge.follow(piece.after)
      const call = yield* this.#add(piece)
      const holds = call.mayBeRefused
      if ((holds || this.refused !== null) && piece.choice !== null) this.#endedTexts.push(piece.choice)
      if (this.refused !== null) return out
      // What waited for its name goes first.
      if (!holds) out.push(...this.#release(call))
      isHeld.push(holds)
    }
    if (this.refused !== null) return out
    if (!isHeld.includes(true)) out.push(event)
    else if (found.isAlone) this.#hold(found.pieces[0]!.key, event)
    else {
      const { pieces, rest } = this.#reader.split(body)
      const parts = pieces.map((piece) => asEvent(event, piece))
      const restOf = rest === null ? [] : [asEvent(event, rest)]
      const endsChoice = found.pieces.some(({ ends }) => ends)
      if (!endsChoice) out.push(...restOf)
      for (const [index, part] of parts.entries())
        if (isHeld[index]) this.#hold(found.pieces[index]!.key, part)
        else out.push(part)
      if (endsChoice) out.push(...restOf)
    }
    return out
  }

  /** Adds a piece to its call. */
  *#add(piece: CallPiece): Steps<StreamedCall> {
    let call = this.#calls.get(piece.key)
    if (call === undefined) {
      if (this.#calls.size >= MAXIMUM_CALLS) throw tooMany('tool calls', MAXIMUM_CALLS)
      call = new StreamedCall(this.#judge, this.#isUnclear, piece.choice)
      this.#calls.set(piece.key, call)
    }
    if (this.refused !== null) return call
    if (piece.isStray && piece.tools.length > 0) this.#strays.add(piece.choice)
    yield* this.#counting(call, call.add(piece))
    if (piece.ends && this.refused === null) yield* this.#endCall(call)
    return call
  }

  *#endCall(call: StreamedCall): Steps<void> {
    // Some clients give the arguments of a call without a name to another.
    if (call.isNameless && call.hasText && this.#calls.size > 1) yield* this.#confuse()
    yield* this.#counting(call, call.end())
    if (this.#strays.has(call.choice) && this.refused === null) yield* this.#judgeOthers(call)
  }

  /**
   * Judges the names of a call that no arguments follow with the arguments of the others, and those
   * of the others with its own: clients that go by ids give a name without one to another call.
   */
  *#judgeOthers(call: StreamedCall): Steps<void> {
    const pace = new Pace()
    for (const other of this.#calls.values()) {
      if (pace.isOver(0)) yield
      if (other === call || other.choice !== call.choice) continue
      for (const [named, given] of [
        [call, other],
        [other, call],
      ] as const) {
        if (named.names.length === 0 || !given.hasText) continue
        if (pace.isOver(given.keptUnits)) yield
        // Parts of arguments may be joined to those of any call.
        const names = given.isComplete ? named.bareNames : named.names
        this.#pairs += 1 + names.length
        if (this.#pairs > MAXIMUM_PAIRS) yield* this.#confuse()
        if (this.refused !== null || this.#isUnclear) return
        yield* given.judgeNames(names)
      }
    }
  }

  /** Counts what a call keeps after some steps of it. */
  *#counting(call: StreamedCall, steps: Steps<void>): Steps<void> {
    const before = call.keptUnits
    yield* steps
    this.#keptUnits += call.keptUnits - before
  }

  #release(call: StreamedCall): readonly SseEvent[] {
    const { held } = call
    for (const { raw } of held) this.#heldUnits -= raw.length
    call.held = []
    return held
  }

  #hold(key: string, event: SseEvent): void {
    this.#calls.get(key)!.held.push(event)
    this.#heldUnits += event.raw.length
  }

  *#endAll(): Steps<readonly SseEvent[]> {
    const out: SseEvent[] = []
    for (const key of this.#calls.keys()) out.push(...(yield* this.#end(key)))
    return out
  }

  /** Judges a call that the stream has left, if it is complete. @returns the events that waited */
  *#leave(key: string): Steps<readonly SseEvent[]> {
    const call = this.#calls.get(key)
    if (call === undefined || this.refused !== null) return []
    yield* this.#counting(call, call.leave())
    return this.refused !== null || call.mayBeRefused ? [] : this.#release(call)
  }

  /** Judges a call that has ended. @returns the events that waited for it */
  *#end(key: string): Steps<readonly SseEvent[]> {
    const call = this.#calls.get(key)
    if (call === undefined || this.refused !== null) return []
    yield* this.#endCall(call)
    return this.refused === null ? this.#release(call) : []
  }

  /** Takes the arguments of every call as unreadable from here on. */
  *#confuse(): Steps<void> {
    this.#isUnclear = true
    for (const call of this.#calls.values())
      if (this.refused === null) yield* this.#counting(call, call.spoil())
  }
}

function asEvent({ otherLines }: SseEvent, body: JsonObject): SseEvent {
  const data = JSON.stringify(body)
  return { data, otherLines, raw: encodeEvent(otherLines, data) }
}
