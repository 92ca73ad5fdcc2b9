/** What became of a push: it was taken in, it does not prove where it comes from, or it cannot be checked now. */
export type PushOutcome = 'taken' | 'forged' | 'unavailable'

/**
 * Takes the pushes of a provider at a path outside `/v1`. A push only says that something changed: it wakes those whom it
 * concerns, and nothing is taken from what it says.
 */
export interface PushReceiver {
  path: string
  bodyBytesMax: number
  receive(push: { authorization: string | null; body: string }): Promise<PushOutcome>
}
