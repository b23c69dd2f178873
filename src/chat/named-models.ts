// Lists the models that a request names besides its own: fallbacks, and models of its tools.

import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { foldName, invalid, isBodyField, plainName } from './body-fields.ts'
import { MODEL_PLACES } from './model-places.ts'

const MAXIMUM_MODEL_CHARACTERS = 256
/** Maximum further models; aggregators accept a handful. */
const MAXIMUM_FURTHER_MODELS = 64

export const MODEL_NAME = `a string of 1 to ${MAXIMUM_MODEL_CHARACTERS} characters`

export const isModelName = (value: JsonValue): value is string =>
  typeof value === 'string' && value.trim() !== '' && value.length <= MAXIMUM_MODEL_CHARACTERS

/** A model, and the path of the member that names it. */
export interface NamedModel {
  readonly name: string
  readonly param: string
}

/** What is read of a value: the models that it names itself, or those of some of its members. */
interface Place {
  names: boolean
  readonly members: Map<string, Place>
}

const newPlace = (): Place => ({ names: false, members: new Map() })

/** The places as a tree, so that each member is looked at once. */
const BODY = newPlace()
for (const path of MODEL_PLACES) {
  let place = BODY
  for (const name of path) {
    const next = place.members.get(name) ?? newPlace()
    place.members.set(name, next)
    place = next
  }
  place.names = true
}

/**
 * Lists the further models that a body names.
 * @throws GatewayError `invalid_body` for a member that names no model, or more than
 *   MAXIMUM_FURTHER_MODELS
 */
export function furtherModels(body: JsonObject): NamedModel[] {
  const found: NamedModel[] = []
  collect(body, '', BODY, found)
  return found
}

/** Adds the models that a value names at a place. A list stands for each of its items. */
function collect(value: JsonValue, at: string, place: Place, found: NamedModel[]): void {
  if (place.names) addNames(value, at, found)
  else if (Array.isArray(value))
    for (const [index, item] of value.entries()) {
      // An input may be a million numbers.
      if (typeof item === 'object' && item !== null) collect(item, `${at}[${index}]`, place, found)
    }
  else if (isObject(value)) {
    for (const name of Object.keys(value)) {
      const member = place.members.get(plainName(name))
      if (member === undefined) continue
      collect(value[name]!, `${at}${at === '' ? '' : '.'}${foldName(name)}`, member, found)
    }
  }
}

/** Adds a name, those of a list, or those of an object: its `model`, and fallbacks by model. */
function addNames(value: JsonValue, at: string, found: NamedModel[]): void {
  if (value === null) return
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) addNames(item, `${at}[${index}]`, found)
  } else if (isObject(value)) {
    for (const name of Object.keys(value)) {
      const plain = plainName(name)
      // There, nothing would check it.
      if (plain !== 'model' && isBodyField(plain))
        throw invalid(`${at}.${foldName(name)}`, 'is not allowed next to the name of a model.')
      addNames(value[name]!, plain === 'model' ? `${at}.model` : at, found)
    }
  } else {
    if (!isModelName(value)) throw invalid(at, `must name models, each ${MODEL_NAME}.`)
    if (found.length === MAXIMUM_FURTHER_MODELS)
      throw invalid(at, `is one of more than ${MAXIMUM_FURTHER_MODELS} further models.`)
    found.push({ name: value.trim(), param: at })
  }
}
