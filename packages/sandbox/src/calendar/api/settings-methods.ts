import { type CalendarMethod, type MethodCall, scopes } from './method.ts'
import { notFound } from './refusals.ts'
import { SHAPES } from './shapes.ts'

const READERS = scopes('* readonly settings.readonly')

export const settingsMethods: readonly CalendarMethod[] = [
  {
    id: 'settings.get',
    http: 'GET',
    path: 'users/me/settings/{setting}',
    scopes: READERS,
    answer: SHAPES.setting,
    run(call) {
      const setting = settingsOf(call).find(({ id }) => id === call.params['setting'])
      if (!setting) throw notFound()
      return setting
    },
  },
  {
    id: 'settings.list',
    http: 'GET',
    path: 'users/me/settings',
    scopes: READERS,
    query: ['maxResults', 'pageToken', 'syncToken'],
    answer: SHAPES.settings,
    run: call => ({ kind: 'calendar#settings', etag: '"settings"', items: settingsOf(call) }),
  },
]

function settingsOf({ parts: { store }, list: { email } }: MethodCall) {
  const timezone = store.calendars.get(email)?.fields.timeZone ?? 'UTC'
  const values = { timezone, locale: 'en', weekStart: '1', format24HourTime: 'true' }
  return Object.entries(values).map(([id, value]) => ({
    kind: 'calendar#setting',
    etag: `"${id}-${value}"`,
    id,
    value,
  }))
}
