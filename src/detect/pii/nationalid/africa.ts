// Lists the personal numbers that consist of digits: Africa.

import { isDated, isSouthAfrican } from './checks.ts'
import { checked, type DigitIdentifier, unchecked } from './digits.ts'

export const AFRICA: readonly DigitIdentifier[] = [
  checked(
    13,
    'south africa|\\brsa\\b|\\bsa id|permanent resident|refugee|id (?:number|no)',
    isSouthAfrican,
    /^(?:13 |6-7 [ -]|6-4-3 (?: {2}|--)|6-4-2-1 (?: {3}|---))$/,
  ),
  // Egypt
  checked(14, 'الرقم القومي|egypt', (d) => /^[23]/.test(d) && isDated(d, 1)),
  // Nigeria
  unchecked(11, '\\bnin\\b|national identification number', /^(?:11 |4-3-4 (?: {2}|--))$/),
]
