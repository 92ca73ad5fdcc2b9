import type { TenantSettings } from '@waxwing/contract/settings.ts'

/** What a tenant begins with. */
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
