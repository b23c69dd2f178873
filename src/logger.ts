// Structured logs: one JSON object a line on standard output, never content, never a secret.

import { pino } from 'pino'

export type GatewayLogger = ReturnType<typeof createLogger>

export const createLogger = (level: string) =>
  pino({
    level,
    // A time people can read, a level they can grep; the pod's name is the platform's to add.
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  })
