// The sections `metrics` and `log` of the configuration's JSON Schema.

import { section } from './schema-parts.ts'

export const METRICS_SECTION = section('Prometheus metrics.', {
  keyNames: {
    description:
      'Whether tokens and costs are also counted by the names of API keys: the first 200, then `other`.',
    type: 'boolean',
    default: true,
  },
})

export const LOG_SECTION = section('Structured logs on standard output.', {
  level: {
    description: 'Lowest level that is logged.',
    enum: ['fatal', 'error', 'warn', 'info', 'debug', 'silent'],
    default: 'info',
  },
})
