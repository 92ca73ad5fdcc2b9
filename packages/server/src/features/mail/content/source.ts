import type { ContentEnd, ContentRange } from '../../../providers/content.ts'
import { inTransaction, type UnitOfWork } from '../../../events/unit-of-work.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import { requireConnectable } from '../../accounts/accounts/access.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { effectiveSettings } from '../../../accounts/settings.ts'
import { reachedAs } from '../../../accounts/reach.ts'
import { refuseFailure } from '../../../calls/provider-failure.ts'
import { refuse } from '../../../calls/refuse.ts'
import { noteOther } from '../at-provider.ts'
import { openCopy } from './record-copy.ts'
import { findLocation } from '../messages/location.ts'
import type { FullRow } from '../messages/store.ts'
import {
  type CopyOutcome,
  keepCopy,
  openStored,
  type SourceContext,
  STORED_BYTES_MAX,
} from './stored-source.ts'

/** No provider accepts a message of this size, so a server that sends more would never end. */
const SOURCE_BYTES_MAX = 1024 ** 3

/** The columns needed to read a message. */
export type SourceRow = Pick<FullRow, 'id' | 'size' | 'is_draft' | 'is_renumbered' | 'is_kept'>

/**
 * Whether the account's `bodyStorage` allows the message to be stored. Drafts change, so they are always read from the
 * provider.
 */
export function isStorable(account: AccountView, message: SourceRow): boolean {
  if (message.is_draft || (message.size ?? 0) > STORED_BYTES_MAX) return false
  return effectiveSettings(account.tenant_settings, account).bodyStorage !== 'none'
}

/**
 * Opens the message as RFC 5322, stored or from the provider. In the latter case it is stored on the way if allowed.
 * @param onSettled as in `keepCopy`; not called if nothing is to be stored
 */
export async function openSource(
  context: SourceContext,
  account: AccountView,
  message: SourceRow,
  onSettled?: (outcome: CopyOutcome) => void,
): Promise<AsyncGenerator<Buffer>> {
  if (message.is_kept) return openCopy(context, account, message.id)
  if (!isStorable(account, message)) return readFromProvider(context, account, message)
  const stored = await openStored(context, account, message.id)
  if (stored !== 'none' && stored !== 'unreadable') return stored
  const content = readFromProvider(context, account, message)
  return stored === 'none' ? keepCopy(context, account, message, content, onSettled) : content
}

/** Returns whether the content is complete: RFC822.SIZE is an estimate on some servers. */
async function* readFromProvider(
  context: SourceContext,
  account: AccountView,
  message: SourceRow,
): AsyncGenerator<Buffer, boolean> {
  const whole = { part: null, isHeader: false, offset: 0, end: SOURCE_BYTES_MAX, size: message.size || null }
  const read = await openAtProvider(context, account, message)
  let length = 0
  const content = read(whole)
  try {
    for (let step = await content.next(); ; step = await content.next()) {
      if (!step.done) {
        length += step.value.length
        yield step.value
        continue
      }
      if (length === SOURCE_BYTES_MAX) return false
      // Empty content is complete only if it was expected to be empty: a message with a size has content.
      return step.value === 'nothing' ? length > 0 && length === message.size : length > 0 || !message.size
    }
  } finally {
    // A reader who has enough, such as one of a header, leaves a request open otherwise.
    await content.return('end')
  }
}

/**
 * Reads content of a message from its provider. If the state of the account forbids it, it refuses here; other failures
 * are refused while the content is read.
 */
export async function openAtProvider(
  { db, connections, wakeSync }: SourceContext,
  account: AccountView,
  message: SourceRow,
): Promise<(range: ContentRange) => AsyncGenerator<Buffer, ContentEnd, void>> {
  requireConnectable(account)
  const location = await findLocation(db, account.id, message.id)
  if (!location) refuse(message.is_renumbered ? 'provider_unavailable' : 'provider_not_found')
  return async function* read(range) {
    let { offset } = range
    const pieces = connections.stream(reachedAs(account), 'content', content =>
      content.open(location, { ...range, offset }),
    )
    try {
      for (;;) {
        const step = await pieces.next()
        if (step.done) return step.value
        offset += step.value.length
        yield step.value
      }
    } catch (error) {
      if (error instanceof ProviderFailure && error.isOther) {
        const note = (unit: UnitOfWork) => noteOther(unit, account, location.source)
        if (await inTransaction(db, account.tenant_id, note)) wakeSync(account.id)
      }
      return refuseFailure(error, 'read')
    } finally {
      await pieces.return('end')
    }
  }
}
