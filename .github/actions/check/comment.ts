// Keeps the action's one comment on a pull request: creates it at the first difference and replaces
// its text from then on. Never fails the job: the token of a pull request from a fork may not
// comment.

import { readFileSync } from 'node:fs'

/** GitHub takes 65,536. */
const MAXIMUM_BODY_CHARACTERS = 60_000
const MAXIMUM_PAGES = 10
const COMMENTS_PER_PAGE = 100
const MAXIMUM_REQUEST_MS = 15_000
/** Answers to a token that may not comment. */
const FORBIDDEN: readonly number[] = [401, 403, 404]
/** Who may change rules anyway. Everyone else could copy the marker to have a comment taken over. */
const TRUSTED: readonly unknown[] = ['OWNER', 'MEMBER', 'COLLABORATOR']

interface PostedComment {
  readonly id: number
  readonly body?: string | null
  readonly user?: { readonly type?: string } | null
  readonly author_association?: string
}

class Refusal extends Error {
  readonly status: number
  constructor(status: number) {
    super(`GitHub answered ${status}`)
    this.status = status
  }
}

type Environment = Readonly<Record<string, string | undefined>>

/** @throws Refusal (rejects) for an answer that is not 2xx; rejects without an answer in time */
async function request(token: string, url: string, method = 'GET', content?: object): Promise<unknown> {
  const answer = await fetch(url, {
    method,
    headers: {
      accept: 'application/vnd.github+json',
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'user-agent': 'sidegate',
    },
    ...(content === undefined ? {} : { body: JSON.stringify(content) }),
    signal: AbortSignal.timeout(MAXIMUM_REQUEST_MS),
  })
  if (!answer.ok) throw new Refusal(answer.status)
  return answer.json()
}

/** @throws Error (rejects) if there are more comments than it reads: a second one might be made. */
async function findComment(token: string, list: string, marker: string): Promise<PostedComment | undefined> {
  const isOurs = ({ body, user, author_association: association }: PostedComment): boolean =>
    body?.startsWith(marker) === true && (user?.type === 'Bot' || TRUSTED.includes(association))
  for (let page = 1; page <= MAXIMUM_PAGES; page++) {
    const url = `${list}?per_page=${COMMENTS_PER_PAGE}&page=${page}`
    const comments = (await request(token, url)) as readonly PostedComment[]
    const found = comments.find(isOurs)
    if (found !== undefined || comments.length < COMMENTS_PER_PAGE) return found
  }
  throw new Error(`none of the first ${MAXIMUM_PAGES * COMMENTS_PER_PAGE} comments is the one to replace`)
}

/** Cuts a long text at the end of a line, and says where the rest is. */
function bounded(text: string, env: Environment): string {
  if (text.length <= MAXIMUM_BODY_CHARACTERS) return text
  const kept = text.slice(0, text.lastIndexOf('\n', MAXIMUM_BODY_CHARACTERS))
  const run = `${env['GITHUB_SERVER_URL']}/${env['GITHUB_REPOSITORY']}/actions/runs/${env['GITHUB_RUN_ID']}`
  return `${kept}\n\nThe rest is in the [summary of the run](${run}).\n`
}

async function comment(env: Environment): Promise<string> {
  const report = readFileSync(env['REPORT'] ?? '', 'utf8')
  const token = env['TOKEN'] ?? ''
  const issues = `${env['GITHUB_API_URL']}/repos/${env['GITHUB_REPOSITORY']}/issues`
  const list = `${issues}/${encodeURIComponent(env['PULL_REQUEST'] ?? '')}/comments`
  // Begins the comment of these rules; another folder of the repository has its own.
  const marker = `<!-- sidegate diff ${encodeURIComponent(`${env['FOLDER']}:${env['RULES']}`)} -->`
  const found = await findComment(token, list, marker)
  if (found === undefined) {
    if (report === '') return 'The rules do not differ; there is no comment.'
    await request(token, list, 'POST', { body: bounded(`${marker}\n${report}`, env) })
    return 'The comment was created.'
  }
  const shown = report === '' ? '### Policy rules\n\nNo difference.\n' : report
  const body = bounded(`${marker}\n${shown}`, env)
  await request(token, `${issues}/comments/${found.id}`, 'PATCH', { body })
  return 'The comment was replaced.'
}

/** Keeps the comment, and returns what the log says of it: one line, in GitHub's form if it failed. */
export async function keepComment(env: Environment): Promise<string> {
  try {
    return await comment(env)
  } catch (error) {
    const { message } = error as Error
    const reason = message.replace(/[%\r\n]/g, ' ')
    return error instanceof Refusal && FORBIDDEN.includes(error.status)
      ? `::notice::The token may not comment (${reason}), as for pull requests from forks; the difference is in the summary of the run. In a branch, give the job \`pull-requests: write\`.`
      : `::warning::The comment was not written: ${reason}. The difference is in the summary of the run.`
  }
}

if (process.argv[1] === import.meta.filename) process.stdout.write(`${await keepComment(process.env)}\n`)
