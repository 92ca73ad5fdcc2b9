import { hash } from 'node:crypto'

export interface IdentifiedMessage {
  internetMessageId: string | null
  from: { address: string } | null
  subject: string | null
  sentAt: Date | null
  /** Bytes. */
  size: number
  receivedAt: Date
}

/**
 * 128 bits in UUID notation that are equal for all copies of a message, wherever they are filed. They are made from
 * the provider's own id of the content if it has one; otherwise from the Message-ID (or sender, subject and date),
 * the size and the second of arrival. Different messages may share the latter, so it is not a key.
 */
export function identityOf(message: IdentifiedMessage, providerId: string | null = null): string {
  const hex = hash('sha256', providerId === null ? describe(message) : `provider\n${providerId}`, 'hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`
}

function describe({ internetMessageId, from, subject, sentAt, size, receivedAt }: IdentifiedMessage): string {
  const name = internetMessageId ?? `${from?.address ?? ''}\n${subject ?? ''}\n${sentAt?.getTime() ?? ''}`
  return `message\n${name}\n${size}\n${Math.floor(receivedAt.getTime() / 1000)}`
}
