import { implement } from '@orpc/server'
import { contacts } from '@waxwing/contract/contacts/contacts.ts'
import type { Download } from '@waxwing/contract/shapes.ts'
import type { AccountView } from '../../../accounts/row.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { FairSemaphore } from '../../../kit/fair-semaphore.ts'
import { refuseHalfFailure } from '../../accounts/accounts/reach-half.ts'
import { askForLook, requireReached } from '../at-provider.ts'
import { requireContact } from '../contacts/access.ts'
import type { ContactRow } from '../contacts/contact-row.ts'
import { fetchPhoto } from './fetch.ts'
import { imageTypeOf } from './image-type.ts'
import { openPhoto, keepPhoto, type PhotoContext } from './kept-photo.ts'
import { recordPhotoState } from './store.ts'

const on = implement(contacts).$context<RequestContext>()

/** @param fetches bounds the photos that are in memory at once */
export function photoOperations(services: PhotoContext & { fetches: FairSemaphore }) {
  return {
    photo: on.photo.handler(async ({ input: { params }, context }) => {
      const { account, contact } = await requireContact(context, params)
      if (contact.photo_state === 'none') refuse('photo_not_found')
      const kept = await openPhoto(services, account, contact)
      if (kept) return answer(contact, kept.contentType, kept.content)
      const fetched = services.fetches.take(account.tenant_id, () =>
        fetchAndKeep(context, services, account, contact),
      )
      const photo = await (fetched ?? refuse('provider_throttled'))
      return answer(contact, photo.contentType, pieces(photo.content))
    }),
  }
}

function answer({ id }: ContactRow, contentType: string, content: AsyncIterable<Uint8Array>): Download {
  return { contentType, fileName: `${id}.${contentType.slice('image/'.length)}`, content }
}

async function* pieces(content: Buffer): AsyncGenerator<Uint8Array> {
  yield content
}

/** Fetches the photo of a contact, and keeps it if the plan has room for it. */
async function fetchAndKeep(
  context: RequestContext,
  services: PhotoContext,
  account: AccountView,
  contact: ContactRow,
): Promise<{ contentType: string; content: Buffer }> {
  const reached = await requireReached(context, account)
  const owner = { tenantId: account.tenant_id, accountId: account.id, contactId: contact.id }
  const { provider_key: key } = contact
  const photo = await fetchPhoto(services.connections, reached, key, context.gone()).catch((error: unknown) =>
    refuseHalfFailure(error, 'read'),
  )
  if (photo === null) {
    if (contact.photo_state === 'unknown')
      await recordPhotoState(context.db, owner, contact.version, { type: 'none' })
    // The provider has another contact by now.
    else await askForLook(context, reached, [key])
    return refuse('photo_not_found')
  }
  const contentType = photo === 'too_large' ? null : imageTypeOf(photo.content)
  if (photo === 'too_large' || contentType === null) return refuse('photo_not_found')
  const { version, content } = photo
  await recordPhotoState(context.db, owner, contact.version, { type: 'some', version })
  await keepPhoto(services, account, owner, { version, contentType, content })
  return { contentType, content }
}
