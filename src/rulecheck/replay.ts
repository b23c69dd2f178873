// Recorded chat requests to try rules on: JSON Lines, each a chat request body, or an object with `request`, and
// `key_name` and `response` if it is known. Texts stay here; problems name lines only.

import { readFile } from 'node:fs/promises'
import { parseJson } from '../chat/json.ts'
import { GatewayError } from '../core/errors.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import type { Problem } from '../core/problem.ts'
import type { Exchange } from './difference.ts'

/** Largest file that is read into memory. */
const MAX_BYTES = 512 * 1024 * 1024
const LINE_FEED = 10

export interface Recording {
  readonly exchanges: readonly Exchange[]
  readonly problems: readonly Problem[]
}

/** Reads a file of recorded requests. @throws the file system's error */
export async function readRecording(path: string): Promise<Recording> {
  const bytes = await readFile(path)
  const problems: Problem[] = []
  const exchanges: Exchange[] = []
  const add = (line: number, message: string) =>
    problems.push({ file: path, line, column: line === 0 ? 0 : 1, path: '', message })
  if (bytes.length > MAX_BYTES) {
    add(0, `is larger than ${MAX_BYTES} bytes; split it`)
    return { exchanges, problems }
  }
  let line = 0
  for (let begin = 0; begin < bytes.length; ) {
    line++
    const found = bytes.indexOf(LINE_FEED, begin)
    const end = found < 0 ? bytes.length : found
    const piece = bytes.subarray(begin, end)
    begin = end + 1
    if (piece.toString('latin1').trim() === '') continue
    const exchange = readLine(piece, `${path}:${line}`)
    if (exchange === null) add(line, 'is neither a chat request body nor an object with `request`')
    else exchanges.push(exchange)
  }
  return { exchanges, problems }
}

function readLine(bytes: Buffer, where: string): Exchange | null {
  let value: unknown
  try {
    value = parseJson(bytes)
  } catch (error) {
    if (error instanceof GatewayError) return null
    throw error
  }
  if (!isObject(value)) return null
  const request = value['request'] ?? value
  const keyName = value['key_name'] ?? 'replay'
  if (!isObject(request) || !Array.isArray(request['messages']) || typeof keyName !== 'string') return null
  return { where, request: withoutKeyName(request), keyName, answer: answerOf(value['response']) }
}

const withoutKeyName = ({ key_name: _keyName, ...request }: JsonObject): JsonObject => request

const answerOf = (response: unknown): JsonObject | null =>
  isObject(response) && Array.isArray(response['choices']) ? response : null
