/**
 * What calls cost of a user's quota, as of 1 May 2026 (developers.google.com/workspace/gmail/api/reference/quota). The
 * parts of a batch cost as much as calls of their own.
 */
export const UNITS = {
  getProfile: 1,
  labelsList: 1,
  labelsGet: 1,
  labelsWrite: 5,
  messagesList: 5,
  messagesGet: 20,
  messagesModify: 5,
  messagesBatchModify: 50,
  messagesTrash: 5,
  messagesDelete: 10,
  messagesBatchDelete: 50,
  messagesInsert: 25,
  messagesSend: 100,
  attachmentsGet: 20,
  threadsGet: 40,
  historyList: 2,
  draftsList: 5,
  draftsGet: 5,
  draftsCreate: 10,
  draftsUpdate: 15,
  draftsDelete: 10,
  draftsSend: 100,
  settingsRead: 1,
  watch: 100,
  stop: 50,
} as const
