// Recognises the label of a number that belongs to a thing or a transaction, not to a person.

import { wordsBefore } from './label.ts'

/** Maximum characters of such a label that are read. */
const MAXIMUM_LABEL = 40
/** Things with numbers, in lower case. */
const THINGS =
  'tickets?|orders?|p\\.?o\\.?|purchase order|invoices?|case|parts?|serial|s\\/n|tracking|sku|models?|products?|items?|batch|lot|' +
  'shipments?|parcels?|consignment|delivery|receipts?|bookings?|reservation|assets?|articles?|catalog(?:ue)?|bugs?|issues?|' +
  'commits?|builds?|revision|version|quote|quotation|proposal|docket|waybill|awb|container|barcode|ean|upc|gtin|asin|isbn|' +
  'job|task|request|incident|rma|transaction|mpn|stock|inventory|room|page|line|coupon|voucher|promo|gift ?card|' +
  'auftrags?|bestell(?:ung|ungs)?|rechnungs?|serien|artikel|sendungs?|lieferschein|vorgangs?|' +
  'commande|facture|colis|pedido|factura|albar[aá]n|ordine|fattura|spedizione|bestelling|factuur|zamówienie|faktura|objednávka|' +
  'claim|flights?|extension|license plate|certificates?|warranty|permit|pallet|bin|заказ|счет|счёт|накладная'
/** Words between the thing and its number. */
const LINKS =
  '(?:[\\s.:#=\'"(\\[-]|(?:numbers?|numm?er|no|nr|num|n[ºo°]|№|номер|id|code|ref(?:erence)?|key|is|was|ist|est|es|è|the|de|n)(?![a-z]))*'
const OTHER_NUMBER = new RegExp(`(?<![\\p{L}\\p{N}])(?:${THINGS})(?:s?nummer|s?nr)?(?!\\p{L})${LINKS}$`, 'u')

/** Reports whether the label directly before an offset names a thing: `ticket `, `PO no. `. */
export const isNumberOfThing = (text: string, at: number): boolean =>
  OTHER_NUMBER.test(wordsBefore(text, at, MAXIMUM_LABEL))
