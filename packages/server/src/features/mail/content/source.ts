import { type ContentRange, CONTENT_BYTES_MAX } from '../../../providers/content.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import { SealError } from '../../../kit/seal.ts'
import { requireConnectable } from '../../accounts/accounts/access.ts'
import type { AccountView } from '../../accounts/accounts/account.ts'
import { effectiveSettings } from '../../accounts/accounts/rules.ts'
import { refuseFailure } from '../../provider-failure.ts'
import { refuse } from '../../refuse.ts'
import { findLocation } from '../messages/location.ts'
import type { FullRow } from '../messages/store.ts'
import {
  type CopyOutcome,
  keepCopy,
  openStored,
  type SourceContext,
  STORED_BYTES_MAX,
} from './stored-source.ts'

/** No provider takes a message of this size; whoever sends more than that never ends. */
const SOURCE_BYTES_MAX = 1024 ** 3

/** What is to be known of a message to read it. */
export type SourceRow = Pick<FullRow, 'id' | 'size' | 'is_draft' | 'is_renumbered'>

/** Whether the account's `bodyStorage` lets the message be stored. Drafts change, so they are always read anew. */
export function isStorable(account: AccountView, message: SourceRow): boolean {
  if (message.is_draft || message.size > STORED_BYTES_MAX) return false
  return effectiveSettings(account.tenant_settings, account).bodyStorage !== 'none'
}

/**
 * The message as RFC 5322, stored or of the provider; then it is stored on the way where it may be.
 * @param onSettled as of `keepCopy`; not called where nothing is to be stored
 */
export async function openSource(
  context: SourceContext,
  account: AccountView,
  message: SourceRow,
  onSettled?: (outcome: CopyOutcome) => void,
): Promise<AsyncGenerator<Buffer>> {
  if (!isStorable(account, message)) return readFromProvider(context, account, message)
  const stored = await openStored(context, account, message.id)
  if (stored !== 'none' && stored !== 'unreadable') return stored
  const content = readFromProvider(context, account, message)
  return stored === 'none' ? keepCopy(context, account, message, content, onSettled) : content
}

/** Returns whether it came to the end of the message: RFC822.SIZE is an estimate with some servers. */
async function* readFromProvider(
  context: SourceContext,
  account: AccountView,
  message: SourceRow,
): AsyncGenerator<Buffer, boolean> {
  const read = await openAtProvider(context, account, message)
  for (let offset = 0; offset < SOURCE_BYTES_MAX;) {
    const bytes = await read({ part: null, isHeader: false, offset, length: CONTENT_BYTES_MAX })
    // No content is no end, unless it was told to be here; nor is a message empty that has a size.
    if (bytes === null) return offset > 0 && offset === message.size
    if (bytes.length === 0) return offset > 0 || message.size === 0
    offset += bytes.length
    yield bytes
    // Elsewhere than at the size that it told, a short answer may be a whim of the server: it is asked again.
    if (bytes.length < CONTENT_BYTES_MAX && offset === message.size) return true
  }
  return false
}

/** Asks the provider for pieces of a message. Refuses where the account cannot reach it, or it no longer has the message. */
export async function openAtProvider(
  { db, services }: SourceContext,
  account: AccountView,
  message: SourceRow,
): Promise<(range: ContentRange) => Promise<Buffer | null>> {
  requireConnectable(account)
  const location = await findLocation(db, message.id)
  if (!location) refuse(message.is_renumbered ? 'provider_unavailable' : 'provider_not_found')
  const reader = { id: account.id, tenantId: account.tenant_id, version: account.updated_at.toISOString() }
  return async range => {
    try {
      return await services.mail.readContent(reader, location, range)
    } catch (error) {
      return refuseReading(error)
    }
  }
}

/** A read names what is wrong with the account, not with a request to change it. */
function refuseReading(error: unknown): never {
  if (error instanceof SealError) refuse('account_misconfigured', undefined, { cause: error })
  if (error instanceof ProviderFailure) {
    const { kind } = error
    if (kind === 'login_failed') refuse('account_reauth_required', undefined, { cause: error })
    if (kind === 'not_allowed' || kind === 'unsupported')
      refuse('account_misconfigured', undefined, { cause: error })
    if (kind === 'rejected' || kind === 'conflict')
      refuse('provider_unavailable', undefined, { cause: error })
  }
  return refuseFailure(error)
}
