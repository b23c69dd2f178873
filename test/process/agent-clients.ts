// The coding agents as their users run them: installed from the registry of npm, configured by the
// blocks of the page, without terminal and without any network but loopback.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { delimiter, dirname, join } from 'node:path'
import type { Test } from 'tap'
import { temporaryFolder } from '../rules/fixture.ts'
import type { Deed, ToolUse } from './agent-upstream.ts'
import { ROOT } from './program.ts'
import { type CommandResult, runCommand } from './run-command.ts'
import { inTime } from './until.ts'

export const PAGE = readFileSync(join(ROOT, 'config/coding-agents.md'), 'utf8')
/** The tested versions, which the page names. */
export const PACKAGES = {
  '@anthropic-ai/claude-code': '2.1.332',
  '@openai/codex': '0.171.0',
  'opencode-ai': '1.18.33',
}

/** The first block in this language below a heading of the page. */
export function block(heading: string, language: string): string {
  const [, section = ''] = PAGE.split(`\n## ${heading}\n`)
  const [, text] =
    new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's').exec(section.split('\n## ')[0] ?? '') ?? []
  if (text === undefined) throw new Error(`the page has no block of ${language} below ${heading}`)
  return text
}

/** What runs a client once. */
export interface Run {
  /** Folder with the configuration of the client. */
  readonly home: string
  /** Folder in which it works. */
  readonly work: string
  readonly gatewayUrl: string
  readonly prompt: string
}

export interface Client {
  readonly name: string
  /** Member of a body that grows with each turn. */
  readonly history: 'messages' | 'input'
  /** Members that are the same in each turn. */
  readonly constant: readonly string[]
  /** Path of a turn, as the page says. */
  readonly path: string
  /** Other members of the body that the page names. */
  readonly sends: Readonly<Record<string, unknown>>
  /** Status of a refusal. */
  readonly refusalStatus: number
  /** Calls that hold the prompt of a user, before the first answer. */
  readonly callsOfPrompt: number
  /** Calls for an answer that is blocked in its reasoning; null where the API has none. */
  readonly callsOfThought: number | null
  /** Hosts that it asks for beside the gateway. */
  readonly otherHosts: RegExp | null
  /** What a user reads for an error of the gateway. */
  readonly errorText: (message: string) => RegExp
  readonly toolFor: (work: string) => (deed: Deed) => ToolUse
  /** Writes its configuration, and returns a line of the shell. */
  readonly command: (run: Run) => string
  /** What its user reads of its output: the last message, or the error. */
  readonly shown: (output: string) => string
}

/** The block, for the gateway of the test. */
const configured = (text: string, { gatewayUrl }: Run): string => {
  if (!text.includes('http://127.0.0.1:8484')) throw new Error('the block does not name the gateway')
  return text.replaceAll('http://127.0.0.1:8484', gatewayUrl)
}

function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const jsonLines = (output: string): any[] =>
  output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))

const CLAUDE_CODE: Client = {
  name: 'Claude Code',
  history: 'messages',
  constant: ['system', 'tools'],
  path: '/v1/messages?beta=true',
  refusalStatus: 400,
  sends: { stream: true, metadata: { user_id: /./ }, max_tokens: 128_000 },
  callsOfPrompt: 1,
  callsOfThought: 2,
  otherHosts: null,
  errorText: (message) => new RegExp(`^API Error: (?:400 )?${message}$`),
  toolFor: (work) => (deed) => {
    if (deed.act === 'run') return { name: 'Bash', input: { command: deed.command, description: 'Runs it' } }
    const file_path = join(work, deed.file)
    if (deed.act === 'read') return { name: 'Read', input: { file_path } }
    if (deed.act === 'write') return { name: 'Write', input: { file_path, content: deed.text } }
    return { name: 'Edit', input: { file_path, old_string: deed.from, new_string: deed.to } }
  },
  command: (run) =>
    `${configured(block('Claude Code', 'sh'), run)}
    claude -p ${quoted(run.prompt)} --output-format json --allowedTools Read Edit Write Bash`,
  shown: (output) => String(jsonLines(output).at(-1)?.result),
}

const CODEX: Client = {
  name: 'Codex',
  history: 'input',
  constant: ['tools'],
  path: '/v1/responses',
  refusalStatus: 400,
  sends: { stream: true, store: false, include: ['reasoning.encrypted_content'] },
  callsOfPrompt: 1,
  callsOfThought: 1,
  otherHosts: null,
  // The body of the answer; of a stream, the message.
  errorText: (message) => new RegExp(`^(?:\\{"error":\\{"message":")?${message}(?:",.*)?$`),
  toolFor: () => (deed) => {
    if (deed.act === 'read') return { name: 'exec_command', input: { cmd: `cat ${deed.file}` } }
    if (deed.act === 'run') return { name: 'exec_command', input: { cmd: deed.command } }
    const lines = (sign: string, text: string) => text.trimEnd().replaceAll(/^/gm, sign)
    const change =
      deed.act === 'write'
        ? `*** Add File: ${deed.file}\n${lines('+', deed.text)}`
        : `*** Update File: ${deed.file}\n@@\n${lines('-', deed.from)}\n${lines('+', deed.to)}`
    return { name: 'apply_patch', input: `*** Begin Patch\n${change}\n*** End Patch\n` }
  },
  command: (run) => {
    put(join(run.home, '.codex/config.toml'), configured(block('Codex', 'toml'), run))
    return `codex exec --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox ${quoted(run.prompt)}`
  },
  shown: (output) => {
    const last = jsonLines(output).findLast(
      ({ type, item }) => type === 'turn.failed' || item?.type === 'agent_message',
    )
    return String(last?.error?.message ?? last?.item?.text).replaceAll('\\"', '"')
  },
}

const OPENCODE: Client = {
  name: 'opencode',
  history: 'messages',
  constant: ['tools'],
  path: '/v1/chat/completions',
  refusalStatus: 403,
  sends: { stream: true, max_tokens: 32_000 },
  // It asks for a title first.
  callsOfPrompt: 2,
  // For its package of plugins.
  callsOfThought: null,
  otherHosts: /npm/,
  errorText: (message) => new RegExp(`^(?:\\{"message":")?${message}(?:",.*)?$`),
  toolFor: (work) => (deed) => {
    if (deed.act === 'run') return { name: 'bash', input: { command: deed.command } }
    const filePath = join(work, deed.file)
    if (deed.act === 'read') return { name: 'read', input: { filePath } }
    if (deed.act === 'write') return { name: 'write', input: { filePath, content: deed.text } }
    return { name: 'edit', input: { filePath, oldString: deed.from, newString: deed.to } }
  },
  command: (run) => {
    put(join(run.home, '.config/opencode/opencode.json'), configured(block('opencode', 'json'), run))
    return `OPENCODE_DISABLE_MODELS_FETCH=1 opencode run --format json --auto ${quoted(run.prompt)}`
  },
  shown: (output) => {
    const last = jsonLines(output).findLast(({ type }) => type === 'text' || type === 'error')
    return String(last?.error?.data?.message ?? last?.part?.text).replaceAll('\\"', '"')
  },
}

export const CLIENTS: readonly Client[] = [CLAUDE_CODE, CODEX, OPENCODE]

/** npm without what runs this test. */
const npm = (args: readonly string[], cwd: string): Promise<CommandResult> =>
  runCommand(['env', '-u', 'NODE_OPTIONS', '-u', 'NODE_COMPILE_CACHE', 'npm', ...args], { cwd })

/** Installs the clients until the end of the test. @returns the folder of their commands, or why not */
export async function install(
  t: Pick<Test, 'teardown'>,
): Promise<{ readonly bin: string } | { readonly missing: string }> {
  const folder = temporaryFolder(t)
  // npm runs only the scripts of packages that are named; these two put their programs in place.
  const allowScripts = { '@anthropic-ai/claude-code': true, 'opencode-ai': true }
  put(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: PACKAGES, allowScripts }))
  const { code } = await npm(['ping', '--fetch-retries=0', '--fetch-timeout=20000'], folder)
  if (code !== 0) return { missing: 'the registry of npm cannot be reached' }
  const installed = await npm(['install', '--no-audit', '--no-fund', '--no-package-lock'], folder)
  if (installed.code === null) return { missing: 'the clients could not be downloaded in time' }
  if (installed.code !== 0) throw new Error(`npm install: ${installed.stderr}`)
  return { bin: join(folder, 'node_modules/.bin') }
}

/** A proxy that refuses everything, and keeps the hosts that it was asked for. */
export async function refusingProxy(t: Pick<Test, 'teardown'>) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    response.writeHead(403).end()
  })
  server.on('connect', ({ url = '' }, socket) => {
    asked.push(url)
    socket.on('error', () => socket.destroy())
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
  })
  await inTime('the proxy listens', new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
  t.teardown(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

export interface Setting {
  /** Folder of the commands. */
  readonly bin: string
  readonly proxyUrl: string
  readonly key: string
}

/** Runs a client to its end. */
export async function runClient(
  client: Client,
  run: Run,
  { bin, proxyUrl, key }: Setting,
): Promise<CommandResult> {
  const variables = {
    PATH: [bin, dirname(process.execPath), process.env['PATH']].join(delimiter),
    HOME: run.home,
    SIDEGATE_KEY: key,
    NO_PROXY: '127.0.0.1',
    no_proxy: '127.0.0.1',
    ...Object.fromEntries(PROXIES.map((name) => [name, proxyUrl])),
  }
  return runCommand(['sh', '-c', client.command(run)], { cwd: run.work, env: variables })
}

const PROXIES = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy']
