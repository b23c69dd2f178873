// Knows where a request holds definitions of tools: in members of the body, in items of the
// conversation, and in the changes of tools between them.

import { isObject, itemsIn, type JsonObject, type JsonValue } from '../core/json.ts'

/** Takes an item out of a list, and notes that it is gone. */
export type TakeOut = (list: JsonValue[], item: JsonValue) => void

/** Definitions in one place. */
export interface ToolPlace {
  /** A list of definitions, or what a request has in place of one. */
  readonly tools: JsonValue
  /** Whether the conversation holds it. */
  readonly isNested: boolean
  /** Takes away what holds the definitions, where it says nothing without them. */
  drop(takeOut: TakeOut): void
}

/** A block that makes a tool available, or withdraws one, by its name. */
export interface ToolReference {
  readonly reference: JsonObject
  readonly isAddition: boolean
  drop(takeOut: TakeOut): void
}

/** Lists of definitions in a body. */
export const TOOL_LISTS = ['tools', 'functions', 'mcp_servers'] as const

/** Conversations whose items may define tools: of Responses, and of all other APIs. */
export const CONVERSATIONS = ['input', 'messages'] as const

/** Items that list the tools of a server, which define none. */
const LISTINGS: ReadonlySet<unknown> = new Set(['mcp_list_tools', 'mcp_tool_listing'])

/** The places of a request that hold definitions. */
export function toolPlaces(body: JsonObject): { places: ToolPlace[]; references: ToolReference[] } {
  const found: { places: ToolPlace[]; references: ToolReference[] } = { places: [], references: [] }
  for (const name of TOOL_LISTS) addMember(body, name, false, () => void delete body[name], found.places)
  for (const name of CONVERSATIONS) {
    const items = body[name]
    for (const item of itemsIn(items)) {
      const dropItem = (takeOut: TakeOut) => {
        if (Array.isArray(items)) takeOut(items, item)
      }
      if (!LISTINGS.has(item['type'])) addMember(item, 'tools', true, dropperOf(item, dropItem), found.places)
      for (const block of itemsIn(item['content'])) addBlock(block, item, dropItem, found)
    }
  }
  return found
}

/**
 * An item of additional tools says nothing without them. The result of a search may have none, and
 * any other item has a content of its own.
 */
function dropperOf(item: JsonObject, dropItem: ToolPlace['drop']): ToolPlace['drop'] {
  const { type } = item
  if (type === 'additional_tools') return dropItem
  return type === 'tool_search_output' ? () => {} : () => void delete item['tools']
}

function addMember(
  holder: JsonObject,
  name: string,
  isNested: boolean,
  drop: ToolPlace['drop'],
  places: ToolPlace[],
): void {
  const tools = Object.hasOwn(holder, name) ? holder[name] : undefined
  if (Array.isArray(tools) || isObject(tools)) places.push({ tools, isNested, drop })
}

/** Reads a block of a message: a change of tools, or a compaction that repeats some. */
function addBlock(
  block: JsonObject,
  message: JsonObject,
  dropMessage: ToolPlace['drop'],
  found: { readonly places: ToolPlace[]; readonly references: ToolReference[] },
): void {
  const { content } = message
  const { tool_changes: changes } = block
  addChange(block, found, (takeOut) => {
    if (!Array.isArray(content)) return
    takeOut(content, block)
    if (content.length === 0) dropMessage(takeOut)
  })
  for (const change of itemsIn(changes))
    addChange(change, found, (takeOut) => {
      if (Array.isArray(changes)) takeOut(changes, change)
    })
}

function addChange(
  { type, tool }: JsonObject,
  { places, references }: { readonly places: ToolPlace[]; readonly references: ToolReference[] },
  drop: ToolPlace['drop'],
): void {
  const isAddition = type === 'tool_addition'
  if ((!isAddition && type !== 'tool_removal') || !isObject(tool)) return
  const { definition } = tool
  if (isObject(definition)) places.push({ tools: [definition], isNested: true, drop })
  else references.push({ reference: tool, isAddition, drop })
}
