// Validators that were written out beforehand, by their schemas. None in the source: .build.ts puts those in this file's
// place that every start needs, because making them of their schemas is a tenth of a start.

import type { ValidateFunction } from 'ajv/dist/2020.js'

export const WRITTEN: ReadonlyMap<object, ValidateFunction> = new Map()
