// Finds the strings that an event adds to texts, and writes others in their places. An event of a
// type that is not known yet may have them in any member.

import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { BodyWalk } from '../body-walk.ts'
import type { Channel, ChannelText } from '../channel.ts'
import { isChannelName, isReplacedString, isWholeContainer } from '../delta-fields.ts'
import type { PathNode } from '../json-path.ts'
import { setMember, type Text } from '../text.ts'

/** The member that holds a piece of a text, or several in an object. */
export const DELTA = 'delta'

/** Deepest string that grows. One below is complete in its event. */
const MAXIMUM_DEPTH = 16

/** A string that adds to a text. */
export interface Piece {
  /** Its path: `delta`, `delta.text`, `delta.parts[0].text`. */
  readonly channel: Channel
  readonly object: JsonObject
  readonly key: string
  /** As in Delta. */
  readonly names: readonly Text[]
}

/**
 * Lists the growing strings of an event, and walks over everything else in it.
 * @param isOther whether a member of the event itself has nothing to scan
 */
export function readPieces(
  event: JsonObject,
  walk: BodyWalk,
  isOther: (name: string, value: JsonValue) => boolean,
): Piece[] {
  const pieces: Piece[] = []
  for (const key of Object.keys(event)) {
    const value = event[key]!
    if (key === DELTA && typeof value === 'string')
      pieces.push({ channel: DELTA, object: event, key, names: [] })
    else if (!isOther(key, value))
      readMember({ walk, pieces }, event, key, { node: null, depth: 1, path: '', names: [] })
  }
  return pieces
}

interface Reading {
  readonly walk: BodyWalk
  readonly pieces: Piece[]
}

/** Where an object is: its path, and the names around it that are texts. */
interface Around {
  readonly node: PathNode | null
  readonly depth: number
  readonly path: Channel
  readonly names: readonly Text[]
}

function readMember(reading: Reading, object: JsonObject, key: string, around: Around): void {
  const { walk, pieces } = reading
  const { node, depth, path } = around
  const value = object[key]!
  const isText = typeof value === 'string'
  const isWhole = isText ? isReplacedString(key, value) : isWholeContainer(key)
  const mayGrow = isText || Array.isArray(value) || isObject(value)
  if (!mayGrow || isWhole || !isChannelName(key) || depth > MAXIMUM_DEPTH) {
    walk.member(object, key, node, depth)
    return
  }
  const { length } = walk.texts
  walk.name(object, key, node)
  const name = walk.texts[length]
  const names = name === undefined ? around.names : [...around.names, name]
  const channel = path + key
  const below = { node: { parent: node, key }, depth: depth + 1, names }
  if (isText) {
    if (value !== '') pieces.push({ channel, object, key, names })
  } else if (isObject(value)) readObject(reading, value, { ...below, path: `${channel}.` })
  else readList(reading, value as JsonValue[], { ...below, path: channel })
}

function readObject(reading: Reading, object: JsonObject, around: Around): void {
  for (const key of Object.keys(object)) readMember(reading, object, key, around)
}

function readList(reading: Reading, list: JsonValue[], { node, depth, path, names }: Around): void {
  for (const [index, item] of list.entries()) {
    const at = { parent: node, key: index }
    if (isObject(item))
      readObject(reading, item, { node: at, depth: depth + 1, path: `${path}[${index}].`, names })
    else reading.walk.value(list, index, node!, depth)
  }
}

/** A member name, and the position in the list that it holds. */
const STEP = /(\w+)(?:\[(\d+)\])?/g

/** Writes texts into an event that has none. */
export function writePieces(event: JsonObject, texts: readonly ChannelText[]): void {
  for (const [channel, text] of texts) {
    const steps = [...channel.matchAll(STEP)]
    let object = event
    for (const [, name = '', position] of steps.slice(0, -1)) object = memberOf(object, name, position)
    const last = steps.at(-1)?.[1] ?? ''
    const present = object[last]
    setMember(object, last, typeof present === 'string' ? present + text : text)
  }
}

/** Returns an object in an object, or in a list in it; makes what is missing. */
function memberOf(object: JsonObject, name: string, position: string | undefined): JsonObject {
  if (position === undefined) {
    const present = object[name]
    if (isObject(present)) return present
    const made: JsonObject = {}
    setMember(object, name, made)
    return made
  }
  const list = Array.isArray(object[name]) ? (object[name] as JsonValue[]) : []
  setMember(object, name, list)
  for (let index = list.length; index <= Number(position); index++) list.push({})
  return list[Number(position)] as JsonObject
}
