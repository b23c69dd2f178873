// Texts for labels.test.ts: what is to be found stands between «».

import type { PiiKind } from '../../../src/core/finding.ts'

/** By kind. */
export const NAMED: Partial<Record<PiiKind, readonly string[]>> = {
  national_id: [
    '{"nhsNumber":"«7369661873»"}',
    '{"nhsNumber": "«668 375 6503»"}',
    'patient.NHSNumber = "«7369661873»"',
    'nhsnumber=«7369661873»',
    'nhs-number: «7369661873»',
    'NHS Number (10 digits): «9665374281»',
    '{"taxFileNumber":"«210234403»"}',
    '{"tax-file-number":"«556022011»"}',
    '{"cpfNumber":"«33911157185»"}',
    'userCpf: «33911157185»',
    'CPF (11 dígitos): «60581979370»',
    'C.P.F. «33911157185»',
    '{"sinNumber":"«734153489»"}',
    '{"socialInsuranceNumber":"«639303643»"}',
    'S.I.N. «656335742»',
    'Identifikationsnummer: «96053781451»',
    'Steuerliche Identifikationsnummer: «93 076 514 987»',
    'Identifikationsnr. «96053781451»',
    '{"steuerId": "«96053781451»"}',
    'St-IdNr «96053781451»',
    'taxIdNr: «96053781451»',
    'person-nr «850709-9805»',
    'personNummer: «850709-9805»',
    '{"nationalIdNumber": "«44051401359»"}',
  ],
  driver_license: [
    '{"driversLicense":"«B9876543»"}',
    '{"drivers_license":"«B9876543»"}',
    'drivers_license_number=«B9876543»',
    'drivers-license-number: «B9876543»',
    'drivingLicenceNo: «B9876543»',
    '{"licenciaDeConducir":"«B9876543»"}',
    'cnhNumero: «12345678900»',
  ],
}

export const UNNAMED: readonly string[] = [
  'sin(123456782)',
  'original single 123456782',
  'the business in 123456782',
  'nhsApp (10) 9434765919',
  'NHS (10 digits, not 12) 9434765918',
  'cpfl 33911157185',
  'software-license 12345678',
  'driverLicensing 1.2.3',
]
