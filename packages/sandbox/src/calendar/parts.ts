import type { PostOffice } from '../world/post-office.ts'
import type { Channels } from './channels.ts'
import type { CalendarSettings } from './settings.ts'
import type { Store } from './store/calendars.ts'

/** Parts of the Calendar API that its methods share. */
export interface CalendarParts {
  readonly settings: CalendarSettings
  readonly store: Store
  readonly post: PostOffice
  readonly channels: Channels
}
