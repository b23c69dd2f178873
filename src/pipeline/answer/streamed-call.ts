// One tool call of a stream, as clients read it: they join its pieces, or take a piece with another
// name or id as a further call. Each name is judged with each of the arguments.

import type { SseEvent } from '../../chat/sse.ts'
import type { CallPiece, WrittenArguments } from '../../chat/tool-format.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Steps } from '../../core/steps.ts'
import { joinedTool, type ToolName, toolNamed } from '../../core/tool-name.ts'
import { MAXIMUM_ARGUMENT_CHARACTERS } from '../../policy/tool-arguments.ts'
import type { CallRules } from '../../policy/tool-rules.ts'
import { readArguments } from '../scan/call-arguments.ts'
import type { CallJudge } from './tool-calls.ts'

/** Maximum names of one call whose arguments are judged. */
const MAXIMUM_NAMES = 1024
/** Maximum pairs of a name and arguments that are judged; more are unreadable. */
const MAXIMUM_READINGS = 1024

export class StreamedCall {
  /** The choice that it is of; null where an answer has only one. */
  readonly choice: number | null
  /** Events that wait for its name or its arguments. */
  held: SseEvent[] = []
  readonly #judge: CallJudge
  /** The rules where it began. */
  readonly #rules: CallRules
  readonly #names: ToolName[] = []
  readonly #knownNames = new Set<string>()
  /** Whether arguments may refuse one of them. */
  #hasRefusable = false
  /** Names after which no arguments came: since the newest ones began, and before. */
  readonly #bareNames = new Set<ToolName>()
  readonly #leftNames = new Set<ToolName>()
  /** The names as given, joined, and the last one. */
  #joined = ''
  #last: string | null = null
  /** Its arguments; each after the first begins new ones to some clients. */
  #texts = ['']
  #isText = false
  /** Whether its arguments match every rule: too long, or read differently by clients. */
  #isUnreadable: boolean
  /** Numbers of the names and of the arguments that are judged with each other. */
  #judged = { names: 0, texts: 0 }
  /** Whether an event had all of it. */
  #hasWhole = false
  /** Whether it was left, once, before its arguments were complete. */
  #isLeft = false

  constructor(judge: CallJudge, isUnreadable: boolean, choice: number | null) {
    this.choice = choice
    this.#judge = judge
    this.#rules = judge.rules
    this.#isUnreadable = isUnreadable
  }

  /** Every name that a client may read and whose arguments rules ask for. */
  get names(): readonly ToolName[] {
    return this.#names
  }

  /** Those of the names after which no arguments came. */
  get bareNames(): readonly ToolName[] {
    return this.hasText ? [...new Set([...this.#leftNames, ...this.#bareNames])] : this.#names
  }

  get isNameless(): boolean {
    return this.#last === null
  }

  /** Size of the arguments that are kept, UTF-16 units. */
  get keptUnits(): number {
    return this.#texts.reduce((sum, { length }) => sum + length, 0)
  }

  /** Whether each of its arguments is JSON. */
  get isComplete(): boolean {
    return !this.#isUnreadable && this.#texts.every((text) => text.trim() === '' || isJson(text))
  }

  /** Whether something of its arguments came, also when it is not kept. */
  get hasText(): boolean {
    return this.#isUnreadable || this.#texts.some((text) => text.trim() !== '')
  }

  /** Whether it may still be refused by what is to come of it. */
  get mayBeRefused(): boolean {
    if (this.isNameless) return true
    const { names, texts } = this.#judged
    const isPending = names < this.#names.length || texts < this.#texts.length
    return isPending && !this.#isUnreadable && this.#hasRefusable
  }

  /** Adds a piece, and judges the names and the whole arguments in it. */
  *add({ tools, text, isText, begins, whole }: CallPiece): Steps<void> {
    const isJudged = this.#judged.texts === this.#texts.length
    if (begins !== null && (this.hasText || isJudged)) this.#texts.push('')
    if (this.#texts.length > MAXIMUM_READINGS) yield* this.spoil()
    for (const tool of tools) yield* this.#name(tool, begins === 'call')
    if (begins !== null) for (const tool of this.#bareNames) this.#leftNames.add(tool)
    if (begins !== null || text.trim() !== '') this.#bareNames.clear()
    if (text.trim() === '')
      for (const { name } of tools) {
        const tool = this.#names.find((one) => one.name === name && !one.isJoined)
        if (tool !== undefined) this.#bareNames.add(tool)
      }
    if (whole === null) yield* this.#append(text, isText)
    else if (this.isNameless) yield* this.#append(textOf(whole), whole.type === 'text')
    else yield* this.#judgeWhole(tools.length > 0 ? tools : this.#names, whole)
    // Its arguments were in this event or in those before.
    if (whole !== null && !this.isNameless) yield* this.#judgeTexts()
  }

  /** Judges an event that has all of the call, which is what some clients read alone. */
  *#judgeWhole(tools: readonly ToolName[], whole: WrittenArguments): Steps<void> {
    this.#hasWhole = true
    for (const tool of tools) yield* this.#judge.judge(tool, whole, this.#rules)
  }

  *#append(text: string, isText: boolean): Steps<void> {
    this.#isText ||= isText
    if (text === '' || this.#isUnreadable || !this.#rules.asksForArguments) return
    const last = this.#texts.length - 1
    this.#texts[last] += text
    // What follows complete arguments makes them unreadable, and so does their length.
    const isLate = this.#judged.texts > last && text.trim() !== ''
    if (isLate || this.#texts[last]!.length > MAXIMUM_ARGUMENT_CHARACTERS) yield* this.spoil()
  }

  /** Names it. Some servers send a name in pieces, others repeat it. */
  *#name(tool: ToolName, isCall: boolean): Steps<void> {
    const isFirst = this.isNameless
    if (isFirst || isCall) this.#judge.count(tool)
    if (this.#last === tool.name) return
    const joined = isFirst ? [] : [joinedTool(this.#joined, tool.name)]
    this.#joined = joined[0]?.name ?? tool.name
    this.#last = tool.name
    for (const one of [tool, ...joined]) {
      if (this.#judge.name(one, this.#rules)) return
      yield* this.#keepName(one)
    }
  }

  /** Keeps a name whose arguments rules ask for. */
  *#keepName(one: ToolName): Steps<void> {
    const known = `${one.isJoined} ${one.name}`
    if (this.#knownNames.has(known) || !this.#rules.named(one).needsArguments) return
    if (this.#names.length >= MAXIMUM_NAMES) throw tooMany('names of a tool call', MAXIMUM_NAMES)
    this.#names.push(one)
    this.#hasRefusable ||= this.#rules.named(one).mayBeRefused
    this.#knownNames.add(known)
    if (this.#isUnreadable) yield* this.#judge.judge(one, null, this.#rules)
  }

  /** Judges names that some clients give to it with its arguments. */
  *judgeNames(names: readonly ToolName[]): Steps<void> {
    const readings = this.#isUnreadable ? null : this.#readings()
    for (const name of names)
      if (readings === null) yield* this.#judge.judge(name, null, this.#rules)
      else for (const { text } of readings) yield* this.#judgeText(name, text)
  }

  /** Takes its arguments as unreadable. */
  *spoil(): Steps<void> {
    this.#isUnreadable = true
    this.#texts = ['']
    for (const name of this.#names) yield* this.#judge.judge(name, null, this.#rules)
  }

  /** Judges it where another call comes next, if its arguments are complete. */
  *leave(): Steps<void> {
    if (this.#isLeft || this.isNameless || this.#isText) return
    this.#isLeft = true
    if (this.hasText && this.isComplete) yield* this.#judgeTexts()
  }

  /** Judges it at its end. A call that nothing names has the empty name. */
  *end(): Steps<void> {
    if (this.isNameless) yield* this.#name(toolNamed(''), false)
    yield* this.#judgeTexts()
  }

  *#judgeTexts(): Steps<void> {
    if (this.#isUnreadable || this.#judge.refused !== null) return
    const { names, texts } = this.#judged
    const readings = this.#hasWhole && !this.hasText ? [] : this.#readings()
    if (readings === null) {
      yield* this.spoil()
      return
    }
    for (const [at, name] of this.#names.entries())
      for (const { text, place } of readings)
        if (at >= names || place >= texts) yield* this.#judgeText(name, text)
    this.#judged = { names: this.#names.length, texts: this.#texts.length }
  }

  *#judgeText(name: ToolName, text: string): Steps<void> {
    yield* this.#judge.judge(name, { type: this.#isText ? 'text' : 'written', text }, this.#rules)
  }

  /**
   * The arguments that clients may read, with their places; null where there is no telling. Those
   * that begin anew are read alone where each is JSON, because together they are not.
   */
  #readings(): readonly { readonly text: string; readonly place: number }[] | null {
    const all = this.#texts.map((text, place) => ({ text, place }))
    const written = all.filter(({ text }) => text.trim() !== '')
    if (written.length === 0) return all.slice(-1)
    if (written.length === 1) return written
    if (written.length * this.#names.length > MAXIMUM_READINGS) return null
    if (this.#isText) return [...written, { text: this.#texts.join(''), place: this.#texts.length - 1 }]
    return written.every(({ text }) => isJson(text)) ? written : null
  }
}

const isJson = (text: string): boolean => readArguments({ type: 'written', text }).type === 'json'

const textOf = (given: WrittenArguments): string =>
  given.type === 'value' ? JSON.stringify(given.value) : given.text

export const tooMany = (what: string, maximum: number): GatewayError =>
  new GatewayError('upstream_unavailable', `The upstream's answer has more than ${maximum} ${what}.`)
