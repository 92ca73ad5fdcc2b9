/** A message as it is kept: its exact bytes, and what is asked for at every call. */
export interface Message {
  readonly id: string
  readonly threadId: string
  readonly raw: Buffer
  /** Milliseconds since 1970. */
  readonly internalDate: number
  readonly order: number
  readonly messageId: string
  readonly baseSubject: string
  readonly labels: Set<string>
  historyNumber: number
  snippet?: string
  /** Whether it was in the inbox when it was trashed. */
  wasInInbox?: boolean
}
