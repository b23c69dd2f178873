// Runs the steps of the action as a runner of GitHub would, against a stand-in of its API.

import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { parse } from 'yaml'
import { temporaryFolder } from '../rules/fixture.ts'
import { ROOT } from './program.ts'
import { type CommandResult, runCommand } from './run-command.ts'

export const ACTION_FOLDER = join(ROOT, '.github/actions/check')
export const TOKEN = 'token-of-the-job'
export const PULL_REQUEST = 7

export interface ActionStep {
  readonly name: string
  readonly if?: string
  readonly uses?: string
  readonly run?: string
  readonly env?: Readonly<Record<string, string>>
  readonly 'working-directory'?: string
}

export const ACTION: {
  readonly inputs: Readonly<Record<string, { readonly default: string }>>
  readonly runs: { readonly steps: readonly ActionStep[] }
} = parse(readFileSync(join(ACTION_FOLDER, 'action.yml'), 'utf8'))

export interface StandInComment {
  readonly id: number
  body: string
  readonly user: { readonly type: string }
  readonly author_association: string
}

export interface StandInApi {
  readonly url: string
  readonly comments: StandInComment[]
  /** Methods and paths of the requests so far. */
  readonly requests: string[]
  /** Answered to everything that changes something, if it is not 0. */
  refusal: number
}

/** Starts the API of GitHub for the comments of one pull request. */
export async function startApi(t: Test): Promise<StandInApi> {
  const comments: StandInComment[] = []
  const requests: string[] = []
  const server = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request
    response.setHeader('content-type', 'application/json')
    const { pathname, searchParams } = new URL(url, 'http://api')
    requests.push(`${method} ${pathname}`)
    const answer = (status: number, content: object) =>
      response.writeHead(status).end(JSON.stringify(content))
    if (headers.authorization !== `Bearer ${TOKEN}`) return answer(401, {})
    const listed = pathname === `/repos/acme/rules/issues/${PULL_REQUEST}/comments`
    if (method === 'GET' && listed) {
      const size = Number(searchParams.get('per_page'))
      const start = (Number(searchParams.get('page')) - 1) * size
      return answer(200, comments.slice(start, start + size))
    }
    if (api.refusal > 0) return answer(api.refusal, { message: 'Resource not accessible\nby integration' })
    const { body } = JSON.parse(await text(request))
    if (method === 'POST' && listed) {
      const bot = { user: { type: 'Bot' }, author_association: 'NONE' }
      comments.push({ id: comments.length + 1, body, ...bot })
      return answer(201, {})
    }
    const found = comments.find(({ id }) => pathname === `/repos/acme/rules/issues/comments/${id}`)
    if (method !== 'PATCH' || found === undefined) return answer(404, {})
    found.body = body
    return answer(200, {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const api: StandInApi = { url: `http://127.0.0.1:${port}`, comments, requests, refusal: 0 }
  return api
}

export interface ActionRun {
  readonly api: StandInApi
  /** The repository of rules. */
  readonly repository: string
  readonly inputs?: Readonly<Record<string, string>>
}

export interface StepResults {
  /** Results of the steps that ran, by name. */
  readonly steps: Readonly<Record<string, CommandResult>>
  readonly summary: string
}

/** Runs the steps in order. After one that failed, only the steps that ask for it run. */
export async function runAction(t: Test, run: ActionRun): Promise<StepResults> {
  const temporary = temporaryFolder(t)
  const summary = join(temporary, 'summary.md')
  writeFileSync(summary, '')
  const values: Record<string, string> = {
    'github.token': TOKEN,
    'github.event.pull_request.number': String(PULL_REQUEST),
    'runner.temp': temporary,
  }
  const evaluate = (given: string): string =>
    given.replace(/\$\{\{ *(.*?) *\}\}/g, (_, expression: string) => {
      const value = values[expression]
      if (value === undefined) throw new Error(`no value for the expression ${expression}`)
      return value
    })
  for (const [name, input] of Object.entries(ACTION.inputs))
    values[`inputs.${name}`] = run.inputs?.[name] ?? evaluate(input.default)
  const { GITHUB_TOKEN: _, ...inherited } = process.env
  const env = {
    ...inherited,
    PATH: `${dirname(process.execPath)}:${inherited['PATH'] ?? ''}`,
    GITHUB_ACTIONS: 'true',
    GITHUB_ACTION_PATH: ACTION_FOLDER,
    GITHUB_API_URL: run.api.url,
    GITHUB_BASE_REF: 'main',
    GITHUB_REPOSITORY: 'acme/rules',
    GITHUB_RUN_ID: '42',
    GITHUB_SERVER_URL: 'https://github.example',
    GITHUB_STEP_SUMMARY: summary,
    GITHUB_WORKSPACE: run.repository,
    RUNNER_TEMP: temporary,
  }
  const steps: Record<string, CommandResult> = {}
  for (const step of ACTION.runs.steps) {
    if (step.if !== undefined && step.if !== '!cancelled()') throw new Error(`unknown if ${step.if}`)
    if (step.if === undefined && Object.values(steps).some(({ code }) => code !== 0)) continue
    const own = Object.entries(step.env ?? {}).map(([name, value]) => [name, evaluate(value)])
    steps[step.name] = await runCommand(
      ['bash', '--noprofile', '--norc', '-e', '-o', 'pipefail', '-c', step.run ?? ''],
      {
        cwd: join(run.repository, evaluate(step['working-directory'] ?? '.')),
        env: { ...env, ...Object.fromEntries(own) },
      },
    )
  }
  return { steps, summary: readFileSync(summary, 'utf8') }
}
