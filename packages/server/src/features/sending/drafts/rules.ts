import { hash } from 'node:crypto'
import { wireAddress } from '../../../kit/mail-address.ts'
import { readIds } from '../../../kit/mime/message-ids.ts'
import type { ThreadFields } from '../compose/rules.ts'

/** Whether an `If-Match` lets a draft with this ETag be changed (RFC 9110 section 13.1.1). Weak tags never do. */
export function matches(ifMatch: string | null, etag: string): boolean {
  if (ifMatch === null || ifMatch.trim() === '*') return true
  return ifMatch.split(',').some(tag => tag.trim() === etag)
}

/** The Message-ID of a draft: the same whenever the request that creates it is tried again. */
export function draftMessageId(draftId: string, fromAddress: string): string {
  const wired = wireAddress(fromAddress)
  const nonce = hash('sha256', `draft\n${draftId}`, 'hex').slice(0, 16)
  return `<${draftId}.${nonce}@${wired.slice(wired.lastIndexOf('@') + 1)}>`
}

/** An id has a line of its own, which must not be longer than 998 bytes. */
const WRITABLE_ID = /^<[!-;=?-~]{1,900}>$/

/** A Message-ID that can be written again as it is; null for any other. */
export function writableId(internetMessageId: string | null): string | null {
  return internetMessageId !== null && WRITABLE_ID.test(internetMessageId) ? internetMessageId : null
}

/** References of a draft, which its new content repeats. */
export function keptThreading({ references, inReplyTo }: Pick<ThreadFields, 'references' | 'inReplyTo'>): {
  inReplyTo: string | null
  references: string[]
} {
  return {
    inReplyTo: writableId(readIds(inReplyTo)[0] ?? null),
    references: readIds(references).filter(id => writableId(id) !== null),
  }
}

/** The second in which something happens: a server keeps no more of a date. */
export function wholeSecond(time: number): Date {
  return new Date(Math.floor(time / 1000) * 1000)
}
