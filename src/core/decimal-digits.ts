// Lists the decimal digits of scripts. Data only.

/**
 * The zeros of all decimal digits of one UTF-16 unit (Unicode 17, category Nd), except ASCII; nine
 * digits follow each.
 */
export const ZEROS = [
  0x0660, // Arabic
  0x06f0, // Persian, Urdu
  0x07c0, // N'Ko
  0x0966, // Devanagari
  0x09e6, // Bengali
  0x0a66, // Gurmukhi
  0x0ae6, // Gujarati
  0x0b66, // Odia
  0x0be6, // Tamil
  0x0c66, // Telugu
  0x0ce6, // Kannada
  0x0d66, // Malayalam
  0x0de6, // Sinhala
  0x0e50, // Thai
  0x0ed0, // Lao
  0x0f20, // Tibetan
  0x1040, // Burmese
  0x1090, // Shan
  0x17e0, // Khmer
  0x1810, // Mongolian
  0x1946, // Limbu
  0x19d0, // New Tai Lue
  0x1a80, // Tai Tham
  0x1a90, // Tai Tham
  0x1b50, // Balinese
  0x1bb0, // Sundanese
  0x1c40, // Lepcha
  0x1c50, // Ol Chiki
  0xa620, // Vai
  0xa8d0, // Saurashtra
  0xa900, // Kayah Li
  0xa9d0, // Javanese
  0xa9f0, // Tai Laing
  0xaa50, // Cham
  0xabf0, // Meetei Mayek
  0xff10, // full width
]

/** Digits of a script. */
export const DIGITS = 10
