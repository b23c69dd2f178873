// JSON Schema of what a log keeps and for how long, the same for gateways and hubs.

import { integer } from './schema-parts.ts'

const KEPT_USERS = ['hash', 'clear', 'off'] as const
/** How the end user of a call is kept. */
export type KeptUser = (typeof KEPT_USERS)[number]

/** How long the exchanges of calls are kept whose key has all these labels. */
export interface RetainRule {
  readonly labels: Readonly<Record<string, string>>
  readonly days: number
}

export const retainDays = (description: string) => integer(description, 1, 36_500, 365)

export const retain = (description: string) => ({
  description,
  type: 'array',
  maxItems: 100,
  default: [],
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['labels', 'days'],
    properties: {
      labels: {
        description: 'Labels of the key at the time of the call, such as `team: legal`.',
        type: 'object',
        minProperties: 1,
        maxProperties: 8,
        additionalProperties: {
          description: 'The value of the label.',
          type: 'string',
          minLength: 1,
          maxLength: 64,
        },
      },
      days: {
        description: 'Days to keep an exchange.',
        type: 'integer',
        minimum: 1,
        maximum: 36_500,
      },
    },
  },
})

export const keptUser = (description: string) => ({
  description,
  enum: [...KEPT_USERS],
  default: 'hash',
})
