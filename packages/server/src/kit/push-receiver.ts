/** A request by which a provider pushes. */
export interface Push {
  /** A header, by its name in lower case; null if it is absent. */
  header(name: string): string | null
  query: URLSearchParams
  body: string
}

/**
 * What became of a push: it was taken in, it does not prove where it comes from, or it cannot be checked now. An echo
 * answers a provider that asks whether the address is ours with this text, of visible ASCII characters.
 */
export type PushOutcome = 'taken' | 'forged' | 'unavailable' | { echo: string }

/**
 * Takes the pushes of a provider at a path outside `/v1`. A push only says that something changed: it wakes those whom it
 * concerns, and nothing is taken from what it says.
 */
export interface PushReceiver {
  path: string
  bodyBytesMax: number
  /** Whether a push without `Authorization` is refused before its body is read. */
  needsAuthorization: boolean
  /** The status that the provider expects for a push that was taken in. */
  takenStatus: 202 | 204
  receive(push: Push): Promise<PushOutcome>
}
