import { hash } from 'node:crypto'

export interface IdentifiedMessage {
  internetMessageId: string | null
  from: { address: string } | null
  subject: string | null
  sentAt: Date | null
  /** Octets. */
  size: number
  receivedAt: Date
}

/**
 * 128 bits in UUID notation that copies of one message share wherever they are filed: of the provider's own id of the
 * content where it has one; else of the Message-ID (else sender, subject and date), the octets and the second of
 * arrival. Different messages may share the latter; it is no key.
 */
export function identityOf(message: IdentifiedMessage, providerId: string | null = null): string {
  const hex = hash('sha256', providerId === null ? describe(message) : `provider\n${providerId}`, 'hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`
}

function describe({ internetMessageId, from, subject, sentAt, size, receivedAt }: IdentifiedMessage): string {
  const name = internetMessageId ?? `${from?.address ?? ''}\n${subject ?? ''}\n${sentAt?.getTime() ?? ''}`
  return `message\n${name}\n${size}\n${Math.floor(receivedAt.getTime() / 1000)}`
}
