-- Health of kraft.quorate.dev/KRaftCluster for Argo CD.
-- The generation is compared first: conditions of an older generation say nothing about what was just applied.
local health = {status = "Progressing", message = "No operator has looked at this resource yet."}
if obj.status == nil or obj.status.conditions == nil then
  return health
end
if obj.status.observedGeneration ~= obj.metadata.generation then
  health.message = "The operator has not seen generation " .. tostring(obj.metadata.generation) .. " yet."
  return health
end
local found = {}
for _, condition in ipairs(obj.status.conditions) do
  found[condition.type] = condition
end
local function message(condition)
  return condition.reason .. ": " .. condition.message
end
if found.Suspended ~= nil and found.Suspended.status == "True" then
  return {status = "Suspended", message = message(found.Suspended)}
end
if found.Stalled ~= nil and found.Stalled.status == "True" then
  return {status = "Degraded", message = message(found.Stalled)}
end
if found.PlanApproved ~= nil and found.PlanApproved.status == "False" then
  return {status = "Suspended", message = message(found.PlanApproved)}
end
if found.Reconciling ~= nil and found.Reconciling.status == "True" then
  return {status = "Progressing", message = message(found.Reconciling)}
end
if found.Ready ~= nil then
  health.message = message(found.Ready)
  if found.Ready.status == "True" then
    health.status = "Healthy"
  elseif found.QuorumAvailable ~= nil and found.QuorumAvailable.status == "False" then
    health.status = "Degraded"
  end
end
return health
