// The routes of the data plane: the APIs that apps call, the answers to them that are kept, the
// models, and the receipts of calls.

import type { Api, ErrorShape } from '../chat/api-format.ts'
import { APIS } from '../chat/apis.ts'
import { bounded } from '../core/schema-builders.ts'
import { handle } from '../pipeline/handle.ts'
import { listModels, retrieveModel } from '../pipeline/models.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import { answerReceipt } from '../pipeline/receipt-request.ts'
import { handleStored } from '../pipeline/stored-call.ts'
import { operation, type RouteOperation } from './openapi/operation-builders.ts'
import type { SocketClient } from './socket-client.ts'

const LIST_OF_TEXTS = { type: 'array', items: { type: 'string' } }
const ABOUT_STORED = { passesOn: true, errors: [400, 403, 404, 500] } as const

/** By method and path below the answer. */
const STORED: Readonly<Record<string, RouteOperation>> = {
  'GET ': operation(
    'Returns a stored response of the same API key, whole or streamed, for 30 days after its call.',
    {
      ...ABOUT_STORED,
      query: {
        stream: { type: 'boolean', default: false },
        starting_after: { type: 'integer', minimum: 0 },
        'include[]': LIST_OF_TEXTS,
      },
    },
  ),
  'DELETE ': operation('Deletes a stored response of the same API key.', ABOUT_STORED),
  'POST /cancel': operation('Cancels a background response of the same API key.', ABOUT_STORED),
  'GET /input_items': operation('Lists the input of a stored response of the same API key.', {
    ...ABOUT_STORED,
    query: {
      limit: bounded(1, 100, 20),
      order: { type: 'string', enum: ['asc', 'desc'], default: 'desc' },
      after: { type: 'string' },
      before: { type: 'string' },
      'include[]': LIST_OF_TEXTS,
    },
  }),
}

type DataPlane = (
  pipeline: Pipeline,
  client: SocketClient,
  params: Readonly<Record<string, string>>,
  search: string,
) => Promise<void>

export interface DataRoute {
  /** OpenAI's shape by default. */
  readonly errors?: ErrorShape
  readonly method: string
  readonly path: string
  readonly data: DataPlane
  readonly operation: RouteOperation
}

export const DATA_ROUTES: readonly DataRoute[] = [
  ...APIS.flatMap(routesOf),
  {
    method: 'GET',
    path: '/v1/models',
    data: listModels,
    operation: operation('Lists the models of the upstreams.', { passesOn: true }),
  },
  // Model names contain slashes, which some clients do not encode.
  {
    method: 'GET',
    path: '/v1/models/*model',
    data: (pipeline, client, { model = '' }) => retrieveModel(pipeline, client, model),
    operation: operation('Returns one model of the list. Slashes in its name need not be encoded.', {
      passesOn: true,
      errors: [404],
    }),
  },
  {
    method: 'GET',
    path: '/v1/audit/receipts/:id',
    data: (pipeline, client, { id = '' }) => answerReceipt(pipeline, client, id),
    operation: operation(
      'Proves that a call of the same API key is in the usage log. `id` is the `x-request-id` of its answer.',
      { answer: 'SignedReceipt', errors: [404, 409] },
    ),
  },
]

/** The route of an API, and those of the answers to it that are kept. */
function routesOf(api: Api): DataRoute[] {
  const { target, errors, stored, document } = api
  const call: DataRoute = {
    method: 'POST',
    path: `/v1${target}`,
    errors,
    data: (pipeline, client, _params, search) => handle(pipeline, client, api, search),
    operation: operation(document.summary, {
      body: document.request.name,
      passesOn: true,
      errors: [403, 404, 429, 500],
    }),
  }
  if (stored === undefined) return [call]
  const storing = { ...api, stored }
  const kept = stored.operations.map(
    (asked): DataRoute => ({
      method: asked.method,
      path: `/v1${target}/:id${asked.path}`,
      errors,
      data: (pipeline, client, { id = '' }, search) =>
        handleStored(pipeline, client, storing, { operation: asked, id, search }),
      operation: STORED[`${asked.method} ${asked.path}`]!,
    }),
  )
  return [call, ...kept]
}
