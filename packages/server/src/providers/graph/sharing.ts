import { z } from 'zod'
import { ProviderFailure } from '../failure.ts'
import { sharedSubjectOf } from '../microsoft/subject.ts'
import type { SharingProvider } from '../sharing.ts'
import type { AskOptions, GraphApi } from './api.ts'

const ID_LENGTH_MAX = 1_000

/** A refusal has no id. */
const inboxSchema = z.object({ id: z.string().min(1).max(ID_LENGTH_MAX).optional() })

/** The inbox of a mailbox; `id` is null if the user may not open the mailbox (403), or there is none (404). */
export type FoundInbox = { id: string } | { id: null; status: number }

export async function findInbox(api: GraphApi, options: AskOptions): Promise<FoundInbox> {
  const { status, value } = await api.ask(
    {
      path: 'mailFolders/inbox',
      query: { $select: 'id' },
      schema: inboxSchema,
      accepts: [200, 403, 404],
    },
    options,
  )
  if (status !== 200) return { id: null, status }
  if (value.id === undefined)
    throw new ProviderFailure('unavailable', 'Microsoft Graph gave the inbox no id.')
  return { id: value.id }
}

/** @param openMailbox opens the mailbox of an address with the grant of the user */
export function graphSharing(openMailbox: (address: string) => GraphApi): SharingProvider {
  return {
    async find(address, signal) {
      const { id } = await findInbox(openMailbox(address), { urgency: 'interactive', signal })
      return id === null ? null : { subject: sharedSubjectOf(id), inboxKey: id }
    },
  }
}
