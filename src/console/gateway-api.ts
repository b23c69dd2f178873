// Calls the management API of the gateway that served the page. Reports lost sessions and lost
// connections as events, because every page reacts to them in the same way.

import { API } from './place.ts'

/** Longest wait for an answer, milliseconds. */
const ANSWER_MS = 30_000

/** An error answer of the API. */
export class ApiFailure extends Error {
  readonly status: number
  readonly code: string
  /** The field or parameter that is wrong; null when the error names none. */
  readonly param: string | null

  constructor(status: number, error: { message?: string; code?: string; param?: string | null }) {
    super(error.message ?? `The gateway answered with status ${status}.`)
    this.status = status
    this.code = error.code ?? 'unknown'
    this.param = error.param ?? null
  }
}

/** No answer: the gateway is gone, or the network is. */
export class UnreachableError extends Error {
  constructor() {
    super('The gateway does not answer.')
  }
}

type ApiEventType = 'signed-out' | 'signed-in' | 'unreachable' | 'reachable'

/** Dispatches events of ApiEventType. */
export const apiEvents = new EventTarget()

/** Whether the gateway said that there is no session, and nobody signed in since. */
let isWithoutSession = false
/** When the gateway answered last, as `performance.now`. */
let answeredMs = Number.NEGATIVE_INFINITY

export const isSignedOut = (): boolean => isWithoutSession
export const lastAnswerMs = (): number => answeredMs

/** Tells every part of the page of a change. */
export function announce(type: ApiEventType): void {
  if (type === 'signed-out' || type === 'signed-in') isWithoutSession = type === 'signed-out'
  apiEvents.dispatchEvent(new Event(type))
}

/** What the answer of a hub to a change says of the sidecars. */
export interface ChangeConfirmation {
  readonly registered: number
  readonly unconfirmed: number
  /** The first of them. */
  readonly unconfirmed_names: readonly string[]
  readonly in_force_everywhere_by: string
}

/** Dispatches CHANGED with a ChangeConfirmation. */
export const changes = new EventTarget()
export const CHANGED = 'changed'

export interface ApiCall {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly body?: unknown
  readonly signal?: AbortSignal
}

/**
 * Calls the API and returns the parsed answer, or its text when it is not JSON.
 * @param path below /api/v1, with its query
 * @throws ApiFailure (rejects) for an error answer, UnreachableError without one, and AbortError
 * after `signal`
 */
export async function callApi<Answer>(path: string, call: ApiCall = {}): Promise<Answer> {
  const { method = 'GET', body, signal } = call
  const timeout = AbortSignal.timeout(ANSWER_MS)
  let response: Response
  let text: string
  try {
    response = await fetch(API + path, {
      method,
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      ...(body === undefined
        ? {}
        : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    })
    text = await response.text()
  } catch (error) {
    if (signal?.aborted === true) throw error
    announce('unreachable')
    throw new UnreachableError()
  }
  answeredMs = performance.now()
  announce('reachable')
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
  const answer = isJson ? JSON.parse(text) : text
  if (response.ok) {
    if (method !== 'GET' && answer?.fleet)
      changes.dispatchEvent(new CustomEvent(CHANGED, { detail: answer.fleet }))
    return answer as Answer
  }
  const failure = new ApiFailure(response.status, (isJson ? answer.error : null) ?? {})
  if (failure.code === 'session_required') announce('signed-out')
  throw failure
}

/** Returns a path with the parameters that have a value. */
export function withQuery(
  path: string,
  parameters: Readonly<Record<string, string | number | null>>,
): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== '') query.set(name, String(value))
  }
  const text = query.toString()
  return text === '' ? path : `${path}?${text}`
}
