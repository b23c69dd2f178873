// Finds what a request of responses names that the provider keeps: items of answers, and containers
// in which its tools ran.

import { isObject, type JsonObject, type JsonValue, objectsIn } from '../core/json.ts'
import type { Steps } from '../core/steps.ts'
import { plainName } from './body-fields.ts'
import { isStoredId } from './stored-format.ts'
import { ValueWalk } from './value-walk.ts'

/** Ids, each in the order of the body. */
export interface NamedIds {
  /** Items that stand for what the provider keeps. */
  readonly items: string[]
  /** Items that the request repeats, with an id. */
  readonly repeatedItems: string[]
  /** Containers in which its tools shall run. */
  readonly containers: string[]
  /** Containers of calls and quotations that the request repeats. */
  readonly repeatedContainers: string[]
}

const ITEM_REFERENCE = 'item_reference'
/** Members with the id of an item, as `plainName` returns them: servers may ignore case. */
const IDS: ReadonlySet<string> = new Set(['id', 'itemid'])
/** Members of an item that say nothing of its own. */
const EMPTY_MEMBERS: ReadonlySet<string> = new Set([...IDS, 'type', 'status'])
/** Lists whose items a model reads. */
const READ_LIST = /(?:^|\.)(?:content|output)\[\d+\]$/i

/**
 * Finds the ids that a request names, in steps. References to items are found at any depth, and so
 * are containers, by the type of their object. Linear in the body.
 */
export function* namedIds(body: JsonObject): Steps<NamedIds> {
  const found: NamedIds = { items: [], repeatedItems: [], containers: [], repeatedContainers: [] }
  const input = Array.isArray(body['input']) ? body['input'] : null
  const walk = new ValueWalk(body)
  for (let value = walk.next(); value !== undefined; value = walk.next()) {
    if (walk.isStepOver()) yield
    if (!isObject(value)) continue
    const isOfInput = input !== null && walk.list === input
    const ids = isOfInput || mayReference(value) ? textsOf(value, IDS) : []
    if (ids.length > 0) {
      if (value['type'] === ITEM_REFERENCE) found.items.push(...ids)
      else if (isOfInput) (isBare(value) ? found.items : found.repeatedItems).push(...ids)
      else if (READ_LIST.test(walk.path())) found.items.push(...ids)
    }
    addContainers(value, found)
  }
  return found
}

/** Whether an object that is no item of the input may name one: by its type, or by its id alone. */
const mayReference = (value: JsonObject): boolean =>
  value['type'] === ITEM_REFERENCE || Object.keys(value).every((name) => EMPTY_MEMBERS.has(plainName(name)))

/** Whether an item of the input only names one: it has an id and no content. */
const isBare = (value: JsonObject): boolean =>
  Object.entries(value).every(([name, member]) => EMPTY_MEMBERS.has(plainName(name)) || isEmpty(member))

const isEmpty = (value: JsonValue): boolean =>
  value === null || value === '' || (Array.isArray(value) && value.length === 0)

const textsOf = (value: JsonObject, names: ReadonlySet<string>): string[] =>
  Object.entries(value).flatMap(([name, member]) =>
    typeof member === 'string' && names.has(plainName(name)) ? [member] : [],
  )

const CONTAINER: ReadonlySet<string> = new Set(['container'])
const CONTAINER_ID: ReadonlySet<string> = new Set(['containerid'])
/** Types of objects with a `container_id`, besides a reference: calls and quotations. */
const WITH_CONTAINER = /_call$|_citation$|_call_output$/

function addContainers(value: JsonObject, found: NamedIds): void {
  const { type } = value
  if (type === 'code_interpreter') found.containers.push(...textsOf(value, CONTAINER))
  else if (type === 'container_reference') found.containers.push(...textsOf(value, CONTAINER_ID))
  else if (typeof type === 'string' && WITH_CONTAINER.test(type))
    found.repeatedContainers.push(...textsOf(value, CONTAINER_ID))
}

/** Containers of one answer that later calls can name. An answer has fewer. */
const MAXIMUM_CONTAINERS = 64

/** Returns the ids of the containers in which tools ran for a response. */
export function containersOfResponse({ output }: JsonObject): readonly string[] {
  const ids = new Set<string>()
  for (const item of objectsIn(output)) {
    const { container_id: id, environment, content } = item
    const parts = objectsIn(content)
    const quotations = parts.flatMap(({ annotations }) => (Array.isArray(annotations) ? annotations : []))
    const others = [environment ?? null, ...quotations].map((one) =>
      isObject(one) ? one['container_id'] : null,
    )
    for (const one of [id, ...others])
      if (typeof one === 'string' && isStoredId(one) && ids.size < MAXIMUM_CONTAINERS) ids.add(one)
  }
  return [...ids]
}
