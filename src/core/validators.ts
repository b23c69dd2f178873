// Precompiled validators by schema; empty in the source. .build.ts replaces this file, because
// compiling the schemas takes a tenth of the start-up time.

import type { ValidateFunction } from 'ajv/dist/2020.js'

export const WRITTEN: ReadonlyMap<object, ValidateFunction> = new Map()
