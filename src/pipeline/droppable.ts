// Which chunks of a stream say nothing once their text is held back. Knows no scans.

import type { StreamChunk } from '../chat/stream.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import type { ScanOutput } from './scanoutput.ts'

/** All of its text is held back, and there was nothing but text: no event is needed to say so. */
export const isDroppable = (chunk: StreamChunk, deltas: readonly ScanOutput[]): boolean =>
  chunk.finished.length === 0 &&
  chunk.usage === null &&
  deltas.every(({ sent }) => sent === '') &&
  chunk.deltas.length > 0 &&
  chunk.others.length === 0 &&
  choicesOf(chunk.body).every(
    (choice) => isObject(choice['delta']) && hasOnlyText(choice['delta']) && hasOnlyDelta(choice),
  )

/** Whether a choice of a chunk says nothing beside its delta. */
export function hasOnlyDelta({ index: _index, delta: _delta, ...others }: JsonObject): boolean {
  return hasOnlyText(others)
}

/** What stands around the counts in the event that `stream_options.include_usage` asks for. */
const AROUND_USAGE: ReadonlySet<string> = new Set(
  'id object created model system_fingerprint service_tier provider obfuscation choices x_groq'.split(' '),
)

/** Takes the counts out of such an event. @returns whether anything is left that says something */
export function stripUsage(body: JsonObject): boolean {
  delete body['usage']
  return Object.entries(body).some(([name, value]) => !AROUND_USAGE.has(name) && value !== null)
}

const choicesOf = (body: JsonObject): JsonObject[] =>
  Array.isArray(body['choices']) ? body['choices'].filter(isObject) : []

const hasOnlyText = (delta: JsonObject): boolean =>
  Object.values(delta).every((value) => value === '' || value === null)
