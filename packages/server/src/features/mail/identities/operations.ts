import { implement } from '@orpc/server'
import { identities, type Signature } from '@waxwing/contract/mail/identities.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { enqueueUnlessDue } from '../../../jobs/enqueue.ts'
import { comparedAddress } from '../../../kit/compared-address.ts'
import { isUuid, newId } from '../../../kit/ids.ts'
import { requireAccount } from '../../accounts/accounts/access.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { lockHalf } from '../../../accounts/halves/lock.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { abilitiesOf } from '../../../providers/abilities.ts'
import { refuse } from '../../../calls/refuse.ts'
import { findOwnSignatures, updateOwnSignature } from '../mail-settings/store.ts'
import { directionsJob } from '../messages/record-directions.ts'
import { presentIdentity, presentPrimary } from './present.ts'
import { refreshIdentities, type RefreshServices } from './refresh.ts'
import { IDENTITIES_MAX, planIdentity, SIGNATURES_BYTES_MAX, toName, toSignature } from './rules.ts'
import {
  countIdentities,
  deleteIdentity,
  findIdentity,
  type IdentityRow,
  insertIdentity,
  listIdentities,
  measureSignatures,
  updateIdentity,
} from './store.ts'

const on = implement(identities).$context<RequestContext>()

export function identityOperations(services: RefreshServices) {
  return { ...changeOperations, list: listing(services) }
}

function listing(services: RefreshServices) {
  return on.list.handler(async ({ input: { params, query }, context }) => {
    const account = await requireAccount(context, params.accountId)
    await refreshIdentities(services, account, { isWanted: query.refresh === true })
    const own = await findOwnSignatures(context.db, account.id)
    const others = await listIdentities(context.db, account.id)
    return {
      items: [presentPrimary(account, own), ...others.map(presentIdentity)],
      refreshedAt: own.readAt?.toISOString() ?? null,
    }
  })
}

const changeOperations = {
  create: on.create.handler(async ({ input: { params, body }, context }) => {
    const { id: accountId, provider } = await requireAccount(context, params.accountId)
    if (abilitiesOf(provider).offersAddresses) refuse('identities_managed_by_provider')
    return context.change(async unit => {
      const account = await requireLocked(unit, accountId)
      const { address } = body
      const row: IdentityRow = {
        id: newId(),
        name: toName(body.name),
        address,
        signature: toSignature(body.signature),
        provider_signature: null,
        source: 'custom',
        is_offered: true,
      }
      const isOwn = comparedAddress(address) === comparedAddress(account.email)
      const count = await countIdentities(unit.sql, accountId)
      if (isOwn || !(await insertIdentity(unit, accountId, row))) refuse('identity_exists')
      if (count >= IDENTITIES_MAX)
        refuseInput([], `an account has at most ${IDENTITIES_MAX} custom identities`)
      await requireSignatureRoom(unit, accountId, row)
      await enqueueUnlessDue(unit, directionsJob, { accountId })
      return presentIdentity(row)
    })
  }),

  update: on.update.handler(async ({ input: { params, body }, context }) => {
    const { id: accountId } = await requireAccount(context, params.accountId)
    return context.change(async unit => {
      const account = await requireLocked(unit, accountId)
      if (params.identityId.toLowerCase() === accountId) {
        if (body.name !== undefined) refuse('identity_not_custom')
        return changePrimary(unit, account, body.signature && toSignature(body.signature))
      }
      const before = await requireIdentity(unit, accountId, params.identityId)
      if (!before.is_offered) refuse('identity_unavailable')
      if (before.source !== 'custom' && body.name !== undefined) refuse('identity_not_custom')
      const after = planIdentity(before, body)
      if (body.signature) await requireSignatureRoom(unit, accountId, after)
      await updateIdentity(unit, accountId, after)
      return presentIdentity(after)
    })
  }),

  delete: on.delete.handler(async ({ input: { params }, context }) => {
    const { id: accountId } = await requireAccount(context, params.accountId)
    return context.change(async unit => {
      await requireLocked(unit, accountId)
      if (params.identityId.toLowerCase() === accountId) refuse('identity_not_custom')
      const { id, source } = await requireIdentity(unit, accountId, params.identityId)
      if (source !== 'custom') refuse('identity_not_custom')
      await deleteIdentity(unit, accountId, id)
      await enqueueUnlessDue(unit, directionsJob, { accountId })
      return null
    })
  }),
}

/** Locks the mail of the account, so that counts and reads of its identities stay true until the commit. */
async function requireLocked(unit: UnitOfWork, accountId: string): Promise<AccountView> {
  return (await lockHalf(unit, accountId, 'mail')) ?? refuse('account_not_found')
}

async function requireIdentity(unit: UnitOfWork, accountId: string, id: string): Promise<IdentityRow> {
  const row = isUuid(id.toLowerCase()) ? await findIdentity(unit.sql, accountId, id) : null
  return row ?? refuse('identity_not_found')
}

/** @param signature undefined: it stays */
async function changePrimary(
  unit: UnitOfWork,
  account: AccountView,
  signature: Signature | null | undefined,
) {
  const { id } = account
  if (signature !== undefined) {
    await requireSignatureRoom(unit, id, { id, signature })
    await updateOwnSignature(unit, id, signature)
  }
  return presentPrimary(account, await findOwnSignatures(unit.sql, id))
}

async function requireSignatureRoom(
  unit: UnitOfWork,
  accountId: string,
  { id, signature }: Pick<IdentityRow, 'id' | 'signature'>,
): Promise<void> {
  if (signature === null) return
  const bytes = Buffer.byteLength(JSON.stringify(signature))
  if (bytes + (await measureSignatures(unit.sql, accountId, id)) > SIGNATURES_BYTES_MAX) {
    refuseInput(['signature'], 'the signatures of an account may take 10 MiB together')
  }
}

function refuseInput(path: string[], message: string): never {
  refuse('invalid_input', { issues: [{ path, message }] })
}
