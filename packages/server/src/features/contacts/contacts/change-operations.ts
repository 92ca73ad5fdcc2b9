import { implement } from '@orpc/server'
import { contacts } from '@waxwing/contract/contacts/contacts.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { Connections } from '../../../connections/connections.ts'
import { NO_FIELDS } from '../../../providers/contacts.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import { changeContacts, requireReached } from '../at-provider.ts'
import { listIndexedFolders, requireFolderKey } from '../folders/store.ts'
import { requireContact, requireContacts, requireWritable } from './access.ts'
import { planChange } from './change-rules.ts'
import { fieldsOf } from './contact-row.ts'
import { presentContact } from './present.ts'
import { recordDeletedContacts } from './record.ts'
import { lockContacts } from './record-account.ts'
import { recordMarks } from './record-marks.ts'
import { recordWritten, withFolders } from './record-written.ts'
import { isIdentifiable } from './rules.ts'

const on = implement(contacts).$context<RequestContext>()

/** The operations that change contacts at the provider of their account. */
export function contactChangeOperations({ connections }: { connections: Connections }) {
  return {
    create: on.create.handler(async ({ input: { params, body }, context }) => {
      const account = await requireContacts(context, params.accountId)
      const { folderId, ...input } = body
      const fields = { ...NO_FIELDS, ...planChange(input) }
      if (!isIdentifiable(fields)) refuse('contact_unidentifiable')
      const named = folderId === undefined ? null : await requireFolderKey(context.db, account.id, folderId)
      requireWritable(account)
      const reached = await requireReached(context, account)
      const indexed = await listIndexedFolders(context.db, account.id)
      const folderKey = named ?? indexed.find(({ isDefault }) => isDefault)?.key ?? null

      const { id: creationId, isResumed: mayExist } = context.attempt
      const written = await changeContacts(context, connections, reached, {
        keys: [],
        work: async provider =>
          withFolders(provider, await provider.create({ folderKey, fields, creationId, mayExist }), indexed),
      })
      return context.change(async unit => {
        const row = await recordWritten(unit, account.id, written)
        return presentContact(row ?? refuse('provider_conflict'))
      })
    }),

    update: on.update.handler(async ({ input: { params, body }, context }) => {
      const { account, contact } = await requireContact(context, params)
      const change = planChange(body)
      if (!isIdentifiable({ ...fieldsOf(contact), ...change })) refuse('contact_unidentifiable')
      requireWritable(account)
      const reached = await requireReached(context, account)
      if (Object.keys(change).length === 0) return context.change(async () => presentContact(contact))
      const indexed = await listIndexedFolders(context.db, account.id)

      const { provider_key: key } = contact
      const written = await changeContacts(context, connections, reached, {
        keys: [key],
        work: async provider => withFolders(provider, await provider.change(key, change), indexed),
      })
      return context.change(async unit => {
        const row = await recordWritten(unit, account.id, written, contact.id)
        return presentContact(row ?? refuse('provider_conflict'))
      })
    }),

    delete: on.delete.handler(async ({ input: { params }, context }) => {
      const { account, contact } = await requireContact(context, params)
      requireWritable(account)
      const reached = await requireReached(context, account)
      const { provider_key: key } = contact
      await changeContacts(context, connections, reached, {
        keys: [key],
        // A contact may be gone already, by an earlier try of this request.
        work: provider => provider.remove(key).catch(unlessGone),
      })
      return context.change(async unit => {
        const locked = await lockContacts(unit, account.id)
        await recordDeletedContacts(unit, locked, [contact.id])
        await recordMarks(unit, account.id, [key])
        return null
      })
    }),
  }
}

function unlessGone(error: unknown): void {
  if (!(error instanceof ProviderFailure) || error.kind !== 'not_found') throw error
}
