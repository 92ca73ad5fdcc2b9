import { z } from 'zod'
import { tenantSettings } from './settings.ts'

export const accountSettings = tenantSettings
  .pick({
    bodyStorage: true,
    syncWindowDays: true,
    calendarEnabled: true,
    contactsEnabled: true,
    undoSendSeconds: true,
    trackOpens: true,
    trackClicks: true,
    trackingHoneypot: true,
  })
  .meta({ id: 'AccountSettings' })
export type AccountSettings = z.infer<typeof accountSettings>

/** The settings that an account sets for itself. It follows the tenant’s settings for the rest. */
export const accountSettingsOverride = accountSettings.partial().meta({ id: 'AccountSettingsOverride' })
export type AccountSettingsOverride = z.infer<typeof accountSettingsOverride>

export const accountSettingsInput = z
  .strictObject({
    ...accountSettingsOverride.shape,
    sharedMailboxesEnabled: z
      .boolean()
      .optional()
      .describe(
        'Microsoft only. Whether users are asked for access to shared mailboxes when they sign in. Needs the module ' +
          '`sharedMailboxes`, and is not shown.',
      ),
  })
  .meta({ id: 'AccountSettingsInput' })
export type AccountSettingsInput = z.infer<typeof accountSettingsInput>
