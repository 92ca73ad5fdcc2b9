import type { Walk } from '../../../../sdk/coverage.ts'
import { walkAccount } from './account.ts'
import { walkCalendars, walkContacts } from './books.ts'
import { walkConnecting } from './connecting.ts'
import { walkMail } from './mail.ts'
import { walkSending } from './sending.ts'
import { walkSuppressions } from './suppressions.ts'
import { walkTenant } from './tenant.ts'
import { walkWebhooks } from './webhooks.ts'
import type { SdkWorld } from './world.ts'

/** Every walk, in the order in which they may be made in one world. */
export const WALKS: Record<Walk, (world: SdkWorld) => Promise<void>> = {
  connecting: walkConnecting,
  account: walkAccount,
  mail: walkMail,
  sending: walkSending,
  suppressions: walkSuppressions,
  calendars: walkCalendars,
  contacts: walkContacts,
  webhooks: walkWebhooks,
  tenant: walkTenant,
}
