import type { Db } from '../../../database/pool.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import type { PublicAnswer, PublicRequest, PublicRoute } from '../../../pages/public-route.ts'
import type { Links } from '../links.ts'
import { recordUnsubscribed } from './record-unsubscribed.ts'
import { findLinkNames } from './store.ts'
import { openUnsubscribeToken, type Unsubscribing } from './unsubscribe-link.ts'
import { askingPage, donePage, ONE_CLICK, UNSUBSCRIBE_POLICY, unchangedPage } from './unsubscribe-page.ts'

const FORM_BYTES_MAX = 16 * 1024

export interface UnsubscribeServices {
  db: Db
  links: Links
  /** Called for each address that was not on its list. */
  onUnsubscribed(): void
}

/**
 * The page of an unsubscribe link. Only a POST with the field of RFC 8058 unsubscribes: scanners follow links, too. It
 * answers 200 once the address is on the list, whether it was there already or not.
 */
export function unsubscribeRoute(services: UnsubscribeServices): PublicRoute {
  return {
    path: '/u/{token}',
    isLink: true,
    form: { bytesMax: FORM_BYTES_MAX, origin: null },
    isPossible: token => openUnsubscribeToken(services.links, token) !== null,
    async serve(request) {
      const link = openUnsubscribeToken(services.links, request.token)
      return link && serveLink(services, link, request)
    },
  }
}

async function serveLink(
  { db, onUnsubscribed }: UnsubscribeServices,
  link: Unsubscribing,
  { method, form }: PublicRequest,
): Promise<PublicAnswer> {
  if (method === 'POST' && form.getAll(ONE_CLICK.name).includes(ONE_CLICK.value)) {
    const { isNew, names } = await inTransaction(db, link.tenantId, async unit => ({
      isNew: await recordUnsubscribed(unit, link),
      names: await findLinkNames(unit.sql, link),
    }))
    if (isNew) onUnsubscribed()
    return answerPage(200, donePage({ address: link.address, ...names }))
  }
  const shown = { address: link.address, ...(await findLinkNames(db, link)) }
  return method === 'POST' ? answerPage(400, unchangedPage(shown)) : answerPage(200, askingPage(shown))
}

function answerPage(status: number, body: string): PublicAnswer {
  return { status, body, headers: { 'content-security-policy': UNSUBSCRIBE_POLICY } }
}
