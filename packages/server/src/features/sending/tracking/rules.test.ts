import { expect, test } from 'vitest'
import { planTracking, type TrackingTerms } from './rules.ts'

const off = { trackOpens: false, trackClicks: false, trackingHoneypot: false }
const on = { trackOpens: true, trackClicks: true, trackingHoneypot: true }
const able = { hasModule: true, isPublic: true, hasHtml: true }

test.each<[string, Partial<TrackingTerms>, string]>([
  ['nothing by default', { settings: off }, ''],
  ['what the settings say', { settings: on }, 'opens clicks honeypot'],
  ['what is asked for', { settings: off, asked: { trackOpens: true } }, 'opens'],
  [
    'what is asked for, without the honeypot of the settings',
    { settings: on, asked: { trackClicks: false } },
    'opens',
  ],
  [
    'nothing where both are turned off',
    { settings: on, asked: { trackOpens: false, trackClicks: false } },
    '',
  ],
  ['nothing of the settings without the module', { settings: on, hasModule: false }, ''],
  ['nothing of the settings without HTML', { settings: on, hasHtml: false }, ''],
  ['nothing of the settings without an address', { settings: on, isPublic: false }, ''],
  [
    'no request without the module',
    { asked: { trackClicks: true }, hasModule: false },
    'plan_module_unavailable',
  ],
  ['no request without HTML', { asked: { trackOpens: true }, hasHtml: false }, 'tracking_unsupported'],
  ['no request without an address', { asked: { trackOpens: true }, isPublic: false }, 'tracking_unsupported'],
  ['a request to track nothing', { asked: { trackOpens: false }, isPublic: false, hasModule: false }, ''],
])('tracks %s', (_, terms, expected) => {
  const planned = planTracking({ settings: off, asked: {}, ...able, ...terms })
  const shown =
    typeof planned === 'string'
      ? planned
      : Object.entries(planned)
          .flatMap(([name, is]) => (is ? [name] : []))
          .join(' ')
  expect(shown).toBe(expected)
})
