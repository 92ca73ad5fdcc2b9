import type { SendingLimits } from '../sending.ts'
import type { Reply } from './reply.ts'

/** A server's answer to EHLO. */
export interface Extensions extends Omit<SendingLimits, 'readsHeader'> {
  hasStartTls: boolean
  hasPipelining: boolean
  /** Upper case; empty if there is no way to log in. */
  authMechanisms: readonly string[]
}

export const NO_EXTENSIONS: Extensions = {
  hasStartTls: false,
  hasPipelining: false,
  authMechanisms: [],
  messageBytesMax: null,
  has8BitMime: false,
  hasSmtpUtf8: false,
  hasDsn: false,
}

/** Reads the answer to EHLO (RFC 5321 section 4.1.1.1). The first line is the server's greeting. */
export function readExtensions({ lines }: Reply): Extensions {
  const offered = new Map<string, string[]>()
  for (const line of lines.slice(1)) {
    // Old servers write AUTH=PLAIN.
    const [keyword = '', ...parameters] = line
      .trim()
      .replace(/^AUTH=/i, 'AUTH ')
      .toUpperCase()
      .split(/\s+/)
    offered.set(keyword, [...(offered.get(keyword) ?? []), ...parameters])
  }
  return {
    hasStartTls: offered.has('STARTTLS'),
    hasPipelining: offered.has('PIPELINING'),
    authMechanisms: offered.get('AUTH') ?? [],
    messageBytesMax: readSize(offered.get('SIZE')?.[0]),
    has8BitMime: offered.has('8BITMIME'),
    hasSmtpUtf8: offered.has('SMTPUTF8'),
    hasDsn: offered.has('DSN'),
  }
}

/** Reads the limit of a message (RFC 1870 section 3): zero or no number means that there is no fixed limit. */
function readSize(text: string | undefined): number | null {
  if (!text || !/^\d{1,15}$/.test(text)) return null
  return Number(text) || null
}
