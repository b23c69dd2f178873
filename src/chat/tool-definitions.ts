// Reads the tools that a request defines or tells the model to call, and takes some out of it. All
// APIs write them alike: `tools`, the older `functions`, `mcp_servers`, and the choice of a tool.

import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { serverTool, type ToolName, toolNamed, toolServer } from '../core/tool-name.ts'
import type { RemovedItems } from './json-rewrite.ts'
import { setMember } from './text.ts'
import { providerTool } from './tool-types.ts'

export interface ToolDefinitions {
  readonly defined: readonly ToolName[]
  /** Tools that the request tells the model to call. */
  readonly chosen: readonly ToolName[]
  /**
   * Takes the tools of some names out of the body, in place. A choice of one becomes `auto`, and
   * what is left of no tools is taken out too.
   * @returns the items that are gone, for `rewriteSteps`
   */
  remove(names: ReadonlySet<string>): RemovedItems
}

/** Reads a body; null for one without tools. Names are read now, later changes do not count. */
export function readDefinitions(body: JsonObject): ToolDefinitions | null {
  const found: Definition[] = []
  const removed = new Map<JsonValue[], Set<number>>()
  for (const list of LISTS) {
    const items = body[list]
    if (Array.isArray(items)) readList(items, found)
  }
  if (body[WEB_SEARCH] !== undefined)
    found.push({ tool: providerTool('web_search'), remove: () => delete body[WEB_SEARCH] })
  const chosen = [...chosenBy(body['tool_choice']), ...chosenBy(body['function_call'])]
  if (found.length === 0 && chosen.length === 0) return null
  return {
    defined: found.map(({ tool }) => tool),
    chosen,
    remove(names) {
      const noted: Remove = (list, item) => takeOut(list, item, removed)
      for (const { tool, remove } of found) if (names.has(tool.name)) remove(noted)
      dropEmpty(body)
      clearChoices(body, names, noted)
      return removed
    },
  }
}

/** Lists of definitions in a body. */
const LISTS = ['tools', 'functions', 'mcp_servers'] as const
/** Makes a model of OpenAI search the web. */
const WEB_SEARCH = 'web_search_options'

type Remove = (list: JsonValue[], item: JsonValue) => void

interface Definition {
  readonly tool: ToolName
  remove(noted: Remove): void
}

/** @param ifEmpty takes out what holds the list, once it has no item left */
function readList(
  items: JsonValue[],
  found: Definition[],
  ifEmpty: (noted: Remove) => void = () => {},
): void {
  for (const item of items) {
    const takeOutItem = (noted: Remove) => {
      noted(items, item)
      if (items.length === 0) ifEmpty(noted)
    }
    const whole = (tool: ToolName) => found.push({ tool, remove: takeOutItem })
    if (!isObject(item)) whole(toolNamed(''))
    else if (item['type'] === 'mcp_toolset') readToolset(item, whole, found)
    else if (isServer(item)) readServer(item, takeOutItem, found)
    else if (item['type'] === 'namespace' && Array.isArray(item['tools']))
      readList(item['tools'], found, takeOutItem)
    else whole(toolOf(item))
  }
}

/** The tool of a definition or of a choice. */
function toolOf(item: JsonObject): ToolName {
  const { type = 'function' } = item
  const inner = isObject(item['function']) ? item['function'] : item['custom']
  const name = isObject(inner) ? inner['name'] : item['name']
  const written = typeof name === 'string' ? name : undefined
  if (typeof type !== 'string' || CLIENT_TYPES.has(type)) return toolNamed(written ?? '')
  return providerTool(type, written)
}

/** Types of tools that only the client knows. */
const CLIENT_TYPES: ReadonlySet<string> = new Set(['function', 'custom', 'tool'])

/** A tool server: of OpenAI's type `mcp`, or an item of Anthropic's `mcp_servers`. */
const isServer = (item: JsonObject): boolean =>
  item['type'] === 'mcp' || (item['type'] === 'url' && typeof item['name'] === 'string')

const labelOf = ({ server_label: label, mcp_server_name: toolset, name }: JsonObject): string =>
  String(label ?? toolset ?? name ?? '')

/** @param takeOutServer for a server none of whose tools is left: an empty list may mean all */
function readServer(server: JsonObject, takeOutServer: Definition['remove'], found: Definition[]): void {
  const label = labelOf(server)
  found.push({ tool: toolServer(label), remove: takeOutServer })
  const { tool_configuration: configuration } = server
  const allowed = (isObject(configuration) ? configuration : server)['allowed_tools']
  const names = isObject(allowed) ? allowed['tool_names'] : allowed
  if (!Array.isArray(names)) return
  for (const name of names) {
    if (typeof name !== 'string') continue
    const remove = (noted: Remove) => {
      noted(names, name)
      if (names.length === 0) takeOutServer(noted)
    }
    found.push({ tool: serverTool(label, name), remove })
  }
}

/** A toolset names the tools of a server that differ from its default. */
function readToolset(toolset: JsonObject, whole: (tool: ToolName) => void, found: Definition[]): void {
  const label = labelOf(toolset)
  whole(toolServer(label))
  const { configs } = toolset
  for (const [name, config] of isObject(configs) ? Object.entries(configs) : []) {
    if (!isObject(config) || config['enabled'] === false) continue
    found.push({ tool: serverTool(label, name), remove: () => setMember(config, 'enabled', false) })
  }
}

/** Takes an item out of a list, and notes its place in the source. */
function takeOut(list: JsonValue[], item: JsonValue, removed: Map<JsonValue[], Set<number>>): void {
  const at = list.indexOf(item)
  if (at < 0) return
  const gone = removed.get(list) ?? new Set<number>()
  let place = at
  for (const one of [...gone].sort((a, b) => a - b)) if (one <= place) place++
  removed.set(list, gone.add(place))
  list.splice(at, 1)
}

/** Providers refuse an empty list, and settings of tools without tools. */
function dropEmpty(body: JsonObject): void {
  for (const list of LISTS) if (Array.isArray(body[list]) && body[list].length === 0) delete body[list]
  if (body['tools'] === undefined && body['mcp_servers'] === undefined) {
    delete body['tool_choice']
    delete body['parallel_tool_calls']
  }
  if (body['functions'] === undefined) delete body['function_call']
}

/** Names of choices that name no tool. */
const MODES: ReadonlySet<unknown> = new Set(['auto', 'any', 'none', 'required'])

/** The tool that a choice demands; none for a mode, and for a list of tools to choose from. */
function chosenBy(choice: JsonValue | undefined): ToolName[] {
  if (!isObject(choice) || MODES.has(choice['type']) || choice['type'] === 'allowed_tools') return []
  return [chosenTool(choice)]
}

function chosenTool(choice: JsonObject): ToolName {
  if (choice['type'] !== 'mcp') return toolOf(choice)
  const { name } = choice
  return typeof name === 'string' ? serverTool(labelOf(choice), name) : toolServer(labelOf(choice))
}

/** Lets the model choose where the chosen tool is gone. */
function clearChoices(body: JsonObject, names: ReadonlySet<string>, noted: Remove): void {
  for (const name of ['tool_choice', 'function_call'] as const) {
    const choice = body[name]
    if (!isObject(choice)) continue
    if (choice['type'] === 'allowed_tools') {
      const holder = isObject(choice['allowed_tools']) ? choice['allowed_tools'] : choice
      const { tools } = holder
      if (!Array.isArray(tools)) continue
      for (const tool of [...tools])
        if (isObject(tool) && names.has(chosenTool(tool).name)) noted(tools, tool)
      if (tools.length === 0) setMember(body, name, 'auto')
    } else if (chosenBy(choice).some((tool) => names.has(tool.name))) {
      const { disable_parallel_tool_use: isSerial } = choice
      const others = isSerial === undefined ? {} : { disable_parallel_tool_use: isSerial }
      setMember(body, name, choice['type'] === 'tool' ? { type: 'auto', ...others } : 'auto')
    }
  }
}
