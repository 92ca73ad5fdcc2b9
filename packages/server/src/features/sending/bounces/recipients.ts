import { comparedAddress } from '../../../kit/compared-address.ts'
import type { Complaint } from './complaint.ts'
import type { BouncedRecipient } from './record-bounces.ts'
import type { Report } from './report.ts'
import { judge } from './rules.ts'
import type { SendFacts } from './store.ts'

/*
 * The recipients of a send that a report is about. An address to which the send did not go does not count.
 */

type Addressed = Pick<SendFacts, 'sender' | 'recipients'>

/** The recipients of a send that the message did not reach according to the report, each once. */
export function bouncedOf({ failed }: Pick<Report, 'failed'>, send: Addressed): BouncedRecipient[] {
  const found = new Map<string, BouncedRecipient>()
  for (const { addresses, isOwn, ...failure } of failed) {
    const [address] = addresses.length === 0 ? onlyOf(send) : sentTo(send, addresses)
    if (address === undefined || found.has(address)) continue
    const judgement = judge({
      ...failure,
      addresses: [address, ...addresses],
      senders: [send.sender],
      isOwn: isOwn && addresses.length > 0,
    })
    found.set(address, { address, diagnostic: failure.diagnostic, ...judgement })
  }
  return [...found.values()]
}

/** The recipients of a send who complained: the ones that the report names, or else the only one. */
export function complainantsOf({ recipients }: Pick<Complaint, 'recipients'>, send: Addressed): string[] {
  return recipients.every(isRedacted) ? onlyOf(send) : sentTo(send, recipients)
}

function sentTo({ recipients }: Addressed, addresses: readonly string[]): string[] {
  return addresses.map(comparedAddress).filter(address => recipients.has(address))
}

function onlyOf({ recipients }: Addressed): string[] {
  return recipients.size === 1 ? [...recipients.keys()] : []
}

/**
 * Whether a provider made an address unreadable: RFC 6590 puts a hash in base64 for the local part, others write that it
 * is redacted, or only dots or the like.
 */
function isRedacted(address: string): boolean {
  const local = address.replace(/@[^@]*$/, '')
  const isHash = /^[\w+/=-]{16,}$/.test(local) && /\d|[+/=]|[a-z][A-Z]/.test(local)
  return (
    isHash ||
    !/[\p{L}\p{N}]/u.test(local) ||
    /^x+$/i.test(local) ||
    /redact|anonymi[sz]ed|hidden/i.test(local)
  )
}
