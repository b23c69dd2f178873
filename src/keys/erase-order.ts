// An order of the hubs to erase exchanges and end users, as it is stored and sent.

/** The calls that an order selects. JSON, exactly one member. */
export type OrderSelection =
  | { readonly request_id: string }
  | { readonly key_id: string }
  /** The end user's hash under the key of the fleet: 32 lower-case hexadecimal digits. */
  | { readonly user: string }
  /** RFC 3339. */
  | { readonly before: string }

export interface EraseOrder {
  /** Its revision among the changes of the fleet. */
  readonly rev: number
  /** UUID. */
  readonly id: string
  readonly selection: OrderSelection
}

/** Orders that some log has not passed, at most. */
export const MAXIMUM_OPEN_ORDERS = 500
