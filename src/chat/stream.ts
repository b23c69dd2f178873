// One chunk of a streamed answer taken apart into the texts that grow, and chunks put together again into one answer.

import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { type Text, type Texts, textsOf } from './texts.ts'
import { readUsage, type Usage } from './usage.ts'

/** A piece of a text that grows from chunk to chunk. */
export interface Delta {
  readonly choice: number
  /** Tells the growing texts of a choice apart: `content`, `refusal`, `tool:0`, `reasoning_details:0:text`, … */
  readonly channel: string
  readonly encoding: 'plain' | 'json'
  readonly text: string
  replace(text: string): void
}

export interface StreamChunk {
  readonly body: JsonObject
  readonly deltas: readonly Delta[]
  /** Strings that do not grow; their changes are complete after `commit`. */
  readonly others: readonly Text[]
  commit(): void
  /** Choices that end with this chunk. */
  readonly finished: readonly number[]
  readonly usage: Usage | null
  /** The extra event that `stream_options.include_usage` asks for: no choices, only usage. */
  readonly usageOnly: boolean
  readonly error: boolean
}

/** Fields of a delta that grow as strings. */
const GROWING = ['content', 'refusal', 'reasoning', 'reasoning_content'] as const
/** Fields of an item of `reasoning_details` that grow. */
const GROWING_DETAILS = ['text', 'summary'] as const
const SKIPPED = new Set([
  'id',
  'object',
  'created',
  'model',
  'system_fingerprint',
  'usage',
  'service_tier',
  'choices',
  'obfuscation',
])
const CHOICE_SKIPPED = new Set(['index', 'finish_reason', 'native_finish_reason', 'logprobs', 'delta'])
const DELTA_KNOWN = new Set<string>([
  ...GROWING,
  'role',
  'tool_calls',
  'function_call',
  'reasoning_details',
  'audio',
])

/** Reads the data of one event; null when it is not a JSON object. */
export function readStreamChunk(data: string): StreamChunk | null {
  let body: unknown
  try {
    body = JSON.parse(data)
  } catch {
    return null
  }
  if (!isObject(body)) return null
  const deltas: Delta[] = []
  const others: Texts[] = []
  const finished: number[] = []
  for (const name of Object.keys(body)) if (!SKIPPED.has(name)) others.push(textsOf(body, name, name))
  const choices = Array.isArray(body['choices']) ? body['choices'] : []
  for (const choice of choices) if (isObject(choice)) readChoice(choice, { deltas, others, finished })
  const usage = readUsage(body)
  const usageOnly = choices.length === 0 && usage !== null
  const commit = () => {
    for (const texts of others) texts.commit()
  }
  return {
    body,
    deltas,
    others: others.flatMap((texts) => texts.texts),
    commit,
    finished,
    usage,
    usageOnly,
    error: isObject(body['error']),
  }
}

interface Parts {
  readonly deltas: Delta[]
  readonly others: Texts[]
  readonly finished: number[]
}

const indexOf = (item: JsonObject, fallback: number): number =>
  typeof item['index'] === 'number' ? item['index'] : fallback

function readChoice(choice: JsonObject, { deltas, others, finished }: Parts): void {
  const index = indexOf(choice, 0)
  if (typeof choice['finish_reason'] === 'string') finished.push(index)
  for (const name of Object.keys(choice)) {
    if (!CHOICE_SKIPPED.has(name)) others.push(textsOf(choice, name, `choices.${name}`))
  }
  const delta = choice['delta']
  if (!isObject(delta)) return
  const grow = (holder: JsonObject, name: string, channel: string, encoding: Delta['encoding'] = 'plain') => {
    const text = holder[name]
    if (typeof text !== 'string' || text === '') return
    const replace = (replacement: string) => {
      holder[name] = replacement
    }
    deltas.push({ choice: index, channel, encoding, text, replace })
  }
  for (const name of GROWING) grow(delta, name, name)
  if (isObject(delta['function_call'])) grow(delta['function_call'], 'arguments', 'function_call', 'json')
  if (isObject(delta['audio'])) grow(delta['audio'], 'transcript', 'audio')
  items(delta['reasoning_details']).forEach((detail, position) => {
    for (const name of GROWING_DETAILS)
      grow(detail, name, `reasoning_details:${indexOf(detail, position)}:${name}`)
  })
  items(delta['tool_calls']).forEach((call, position) => {
    const tool = indexOf(call, position)
    if (isObject(call['function'])) grow(call['function'], 'arguments', `tool:${tool}`, 'json')
    if (isObject(call['custom'])) grow(call['custom'], 'input', `tool:${tool}`)
  })
  for (const name of Object.keys(delta)) {
    if (!DELTA_KNOWN.has(name)) others.push(textsOf(delta, name, `choices.delta.${name}`))
  }
}

const items = (value: JsonValue | undefined): JsonObject[] =>
  Array.isArray(value) ? value.filter(isObject) : []

/**
 * A chunk that carries only this text for that channel, in the envelope of another: what was held back until a
 * choice ended.
 */
export function flushChunk(like: JsonObject, choice: number, channel: string, text: string): JsonObject {
  const envelope: JsonObject = {}
  for (const name of ['id', 'object', 'created', 'model', 'system_fingerprint', 'provider']) {
    const value = like[name]
    if (value !== undefined) envelope[name] = value
  }
  return {
    ...envelope,
    choices: [{ index: choice, delta: channelDelta(channel, text), finish_reason: null }],
  }
}

function channelDelta(channel: string, text: string): JsonObject {
  const [kind = '', index = '0', name = 'text'] = channel.split(':')
  switch (kind) {
    case 'tool':
      return { tool_calls: [{ index: Number(index), function: { arguments: text } }] }
    case 'function_call':
      return { function_call: { arguments: text } }
    case 'audio':
      return { audio: { transcript: text } }
    case 'reasoning_details':
      return { reasoning_details: [{ index: Number(index), [name]: text }] }
    default:
      return { [kind]: text }
  }
}
