import type { MergeItem } from '@waxwing/contract/sending/mail-merges.ts'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import type { AcceptedMessage } from '../servers/smtp-sink.ts'
import { waitUntil } from '../wait-until.ts'
import type { SendingApp } from './open-sending.ts'

/** Entries of a merge, each to somebody else. */
export const readers = (count: number) =>
  Array.from({ length: count }, (_, nth) => ({
    to: { name: `Reader ${nth}`, address: `reader-${nth}@example.org` },
    reference: `reader-${nth}`,
  }))

/** Mail merges through a service, which must be accepted. */
export interface Merging {
  merge(accountId: string, body: Record<string, unknown>): Promise<MergeItem[]>
  listMerge(accountId: string, mailMergeId: string): Promise<OutboxEntry[]>
  /** Waits until all entries of the merge have ended. */
  untilEnded(accountId: string, mailMergeId: string): Promise<OutboxEntry[]>
  acceptedBy(from: string): Promise<AcceptedMessage[]>
}

export function merging(opened: () => SendingApp): Merging {
  const steps: Merging = {
    async merge(accountId, body) {
      const answer = await opened().app.post<{ items: MergeItem[] }>(
        `/v1/accounts/${accountId}/mail-merges`,
        {
          subject: 'News',
          text: 'There is news.\n',
          ...body,
        },
      )
      if (answer.status !== 200) throw new Error(`not accepted: ${JSON.stringify(answer.body)}`)
      return answer.body.items
    },
    async listMerge(accountId, mailMergeId) {
      const { body } = await opened().app.get<{ items: OutboxEntry[] }>(
        `/v1/accounts/${accountId}/outbox?mailMergeId=${mailMergeId}&limit=200`,
      )
      return body.items
    },
    untilEnded: (accountId, mailMergeId) =>
      waitUntil('the end of the merge', async () => {
        const entries = await steps.listMerge(accountId, mailMergeId)
        return entries.every(({ status }) => status !== 'queued' && status !== 'sending') ? entries : null
      }),
    acceptedBy: async from => (await opened().sink.accepted()).filter(message => message.from === from),
  }
  return steps
}
