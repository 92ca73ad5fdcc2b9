import type { TenantSettings } from '@waxwing/contract/accounts/settings.ts'
import type { Plan } from '../plans/plan.ts'

/** The initial settings of a tenant without a plan. */
export const NEW_TENANT_SETTINGS: TenantSettings = {
  bodyStorage: 'cache',
  syncWindowDays: 90,
  calendarEnabled: true,
  contactsEnabled: false,
  undoSendSeconds: 0,
  trackOpens: false,
  trackClicks: false,
  trackingHoneypot: false,
  optOutHandling: 'review',
  eventRetentionDays: 30,
  redirectUris: [],
  aiReplyClassification: false,
  mcpSendPolicy: {
    mode: 'confirm',
    allowedRecipientDomains: null,
    dailySendLimit: null,
    externalRecipientConfirmation: false,
  },
}

/** The initial settings of a tenant with this plan. */
export function newTenantSettings(plan: Plan | null): TenantSettings {
  const isStorageForbidden = plan !== null && !plan.limits.bodyStorageAllowed
  return isStorageForbidden ? { ...NEW_TENANT_SETTINGS, bodyStorage: 'none' } : NEW_TENANT_SETTINGS
}
