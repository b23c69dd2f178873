// Reads the tools that a request defines or tells the model to call, and takes some out of it. All
// APIs write them alike: `tools`, the older `functions`, `mcp_servers`, and the choice of a tool.
// Where they may be is in tool-places.ts, options and plugins that bring tools in hosted-tools.ts.

import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { serverTool, type ToolName, toolNamed, toolServer, writtenName } from '../core/tool-name.ts'
import { readHostedTools } from './hosted-tools.ts'
import type { RemovedItems } from './json-rewrite.ts'
import { setMember } from './text.ts'
import { type TakeOut, TOOL_LISTS, toolPlaces } from './tool-places.ts'
import { isUnseenType, providerTool } from './tool-types.ts'

export interface ToolDefinitions {
  readonly defined: readonly ToolName[]
  /** Names of those that cannot leave the body. */
  readonly fixed: ReadonlySet<string>
  /** Tools that the provider may run for the answer without a sign in it. */
  readonly unseen: readonly ToolName[]
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
  const { found, withdrawn } = readPlaces(body)
  const removed = new Map<JsonValue[], Set<number>>()
  const hosted = readHostedTools(body)
  for (const { tool, remove, isUnseen } of hosted)
    found.push({ tool, isUnseen, isNested: false, remove: remove ?? (() => {}) })
  const chosen = [...chosenBy(body['tool_choice']), ...chosenBy(body['function_call'])]
  if (found.length === 0 && chosen.length === 0) return null
  return {
    defined: found.map(({ tool }) => tool),
    fixed: new Set(hosted.filter(({ remove }) => remove === null).map(({ tool }) => tool.name)),
    unseen: found.filter(({ isUnseen }) => isUnseen).map(({ tool }) => tool),
    chosen,
    remove(names) {
      const noted: TakeOut = (list, item) => takeOut(list, item, removed)
      for (const { tool, remove } of [...found, ...withdrawn]) if (names.has(tool.name)) remove(noted)
      dropEmpty(
        body,
        found.some(({ tool, isNested }) => isNested && !names.has(tool.name)),
      )
      clearChoices(body, names, noted)
      return removed
    },
  }
}

interface Definition {
  readonly tool: ToolName
  readonly isUnseen: boolean
  /** Whether it is in the conversation. */
  readonly isNested: boolean
  remove(noted: TakeOut): void
}

/** What is read of a list. */
interface Reading {
  readonly found: Definition[]
  readonly isNested: boolean
}

/** The definitions of a body, and the tools that its conversation withdraws. */
function readPlaces(body: JsonObject): { found: Definition[]; withdrawn: Definition[] } {
  const found: Definition[] = []
  const withdrawn: Definition[] = []
  const { places, references } = toolPlaces(body)
  for (const { tools, isNested, drop } of places)
    if (Array.isArray(tools)) readList(tools, { found, isNested }, drop)
    else readObject(tools as JsonObject, { found, isNested }, drop)
  for (const { reference, isAddition, drop } of references) {
    const known = { isUnseen: false, isNested: true, remove: drop }
    const tools = referredTools(reference).map((tool): Definition => ({ tool, ...known }))
    ;(isAddition ? found : withdrawn).push(...tools)
  }
  return { found, withdrawn }
}

/** The tools that a change of tools refers to. */
function referredTools({ type, name, server_name: server }: JsonObject): ToolName[] {
  const label = String(server ?? '')
  if (type === 'mcp_toolset_reference') return [toolServer(label)]
  const written = writtenName(name) ?? ''
  return [type === 'mcp_tool_reference' ? serverTool(label, written) : toolNamed(written)]
}

/** @param ifEmpty takes out what holds the list, once it has no item left */
function readList(items: JsonValue[], reading: Reading, ifEmpty: Definition['remove'] = () => {}): void {
  for (const item of items) {
    const takeOutItem = (noted: TakeOut) => {
      noted(items, item)
      if (items.length === 0) ifEmpty(noted)
    }
    readItem(item, takeOutItem, reading)
  }
}

function readItem(item: JsonValue, remove: Definition['remove'], reading: Reading): void {
  const { found, isNested } = reading
  const isUnseen = isObject(item) && isUnseenType(item['type'])
  const whole = (tool: ToolName) => found.push({ tool, isUnseen, isNested, remove })
  if (Array.isArray(item)) readList(item, reading, remove)
  else if (!isObject(item)) whole(toolNamed(''))
  else if (item['type'] === 'mcp_toolset') readToolset(item, whole, reading)
  else if (isServer(item)) readServer(item, remove, reading)
  else if (item['type'] === 'namespace' && Array.isArray(item['tools']))
    readList(item['tools'], reading, remove)
  else {
    for (const tool of toolsOf(item)) whole(tool)
    const { parameters } = item
    // A provider's tool that calls models may give them tools.
    if (isUnseen && isObject(parameters) && Array.isArray(parameters['tools']))
      readList(parameters['tools'], reading, () => void delete parameters['tools'])
  }
}

/** Reads an object in the place of a list: a definition, or definitions by their names. */
function readObject(object: JsonObject, { found, isNested }: Reading, remove: Definition['remove']): void {
  const items = [object, ...Object.values(object).filter(isObject)]
  const read: Definition[] = []
  readList([...items], { found: read, isNested })
  for (const one of read) found.push({ ...one, remove })
}

/** The tools of a definition or of a choice: one, but for an item with several names. */
function toolsOf(item: JsonObject): ToolName[] {
  const { type = 'function' } = item
  const inners = [item['function'], item['custom'], item].filter(isObject)
  const names = new Set(inners.flatMap(({ name }) => writtenName(name) ?? []))
  if (typeof type === 'string' && !CLIENT_TYPES.has(type))
    return names.size === 0 ? [providerTool(type)] : [...names].map((name) => providerTool(type, name))
  return names.size === 0 ? [toolNamed('')] : [...names].map((name) => toolNamed(name))
}

/** Types of tools that only the client knows. */
const CLIENT_TYPES: ReadonlySet<string> = new Set(['function', 'custom', 'tool'])

/** A tool server: of OpenAI's type `mcp`, or an item of Anthropic's `mcp_servers`. */
const isServer = (item: JsonObject): boolean =>
  item['type'] === 'mcp' || (item['type'] === 'url' && typeof item['name'] === 'string')

const labelOf = ({ server_label: label, mcp_server_name: toolset, name }: JsonObject): string =>
  String(label ?? toolset ?? name ?? '')

/** @param takeOutServer for a server none of whose tools is left: an empty list may mean all */
function readServer(server: JsonObject, takeOutServer: Definition['remove'], reading: Reading): void {
  const label = labelOf(server)
  const add = (tool: ToolName, remove: Definition['remove']) =>
    reading.found.push({ tool, isUnseen: false, isNested: reading.isNested, remove })
  add(toolServer(label), takeOutServer)
  const { tool_configuration: configuration } = server
  const allowed = (isObject(configuration) ? configuration : server)['allowed_tools']
  const names = isObject(allowed) ? allowed['tool_names'] : allowed
  if (!Array.isArray(names)) return
  for (const item of names) {
    const name = writtenName(item)
    if (name === null) continue
    add(serverTool(label, name), (noted) => {
      noted(names, item)
      if (names.length === 0) takeOutServer(noted)
    })
  }
}

/**
 * A toolset names the tools of a server that differ from its default, and may list all that the
 * server has.
 */
function readToolset(toolset: JsonObject, whole: (tool: ToolName) => void, reading: Reading): void {
  const label = labelOf(toolset)
  const add = (name: string, remove: Definition['remove']) =>
    reading.found.push({
      ...{ tool: serverTool(label, name), isUnseen: false, isNested: reading.isNested, remove },
    })
  whole(toolServer(label))
  const { configs, tools } = toolset
  const byName = isObject(configs) ? configs : {}
  for (const [name, config] of Object.entries(byName))
    if (isObject(config) && config['enabled'] !== false) add(name, () => setMember(config, 'enabled', false))
  for (const item of Array.isArray(tools) ? tools : []) {
    const name = isObject(item) ? writtenName(item['name']) : null
    const config = name === null ? undefined : byName[name]
    if (name === null || (isObject(config) && config['enabled'] === false)) continue
    add(name, (noted) => noted(tools as JsonValue[], item))
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

/**
 * Providers refuse an empty list, and settings of tools without tools.
 * @param hasOthers whether the conversation still defines tools
 */
function dropEmpty(body: JsonObject, hasOthers: boolean): void {
  for (const list of [...TOOL_LISTS, 'plugins'])
    if (Array.isArray(body[list]) && body[list].length === 0) delete body[list]
  if (!hasOthers && body['tools'] === undefined && body['mcp_servers'] === undefined) {
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
  return chosenTools(choice)
}

function chosenTools(choice: JsonObject): ToolName[] {
  if (choice['type'] !== 'mcp') return toolsOf(choice)
  const name = writtenName(choice['name'])
  return [name === null ? toolServer(labelOf(choice)) : serverTool(labelOf(choice), name)]
}

/** Lets the model choose where the chosen tool is gone. */
function clearChoices(body: JsonObject, names: ReadonlySet<string>, noted: TakeOut): void {
  for (const name of ['tool_choice', 'function_call'] as const) {
    const choice = body[name]
    if (!isObject(choice)) continue
    if (choice['type'] === 'allowed_tools') {
      const holder = isObject(choice['allowed_tools']) ? choice['allowed_tools'] : choice
      const { tools } = holder
      if (!Array.isArray(tools)) continue
      for (const tool of [...tools])
        if (isObject(tool) && chosenTools(tool).some(({ name }) => names.has(name))) noted(tools, tool)
      if (tools.length === 0) setMember(body, name, 'auto')
    } else if (chosenBy(choice).some((tool) => names.has(tool.name))) {
      const { disable_parallel_tool_use: isSerial } = choice
      const others = isSerial === undefined ? {} : { disable_parallel_tool_use: isSerial }
      setMember(body, name, choice['type'] === 'tool' ? { type: 'auto', ...others } : 'auto')
    }
  }
}
